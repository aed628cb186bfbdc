-- Addresses in lower and upper case: in lower case they are what they were, and in upper case, strings.
-- frames: all
local xdp = require "xdp"
local t = map { key = "ip", value = "int", capacity = 10 }
xdp.attach(function(pkt)
  local eth, ip = pkt.eth, pkt.ip
  print(eth.dst:lower(), eth.dst:upper(), eth.dst:lower() == eth.dst, eth.dst:upper():lower() == eth.dst)
  eth.src = eth.dst:lower()
  print(eth.src == eth.dst, eth.src:upper() == eth.dst:upper())
  if ip then
    t[ip.src:lower()] = 1
    print(t[ip.src], ip.src:upper(), ip.src:lower() == ip.src, #ip.dst:upper(), ip.dst:upper():sub(1, 3))
    ip.src = ip.dst:lower()
    print(ip.src == ip.dst)
  end
end)
