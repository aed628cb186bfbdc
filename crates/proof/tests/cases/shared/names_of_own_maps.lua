-- Tables that are called as maps of the compiler's own are.
-- frames: udp tcp udp6 arp
local xdp = require "xdp"

taken, region, ports, interfaces = {}, {}, {}, {}
seen = 0

xdp.attach(function(pkt)
  seen = seen + 1
  local key = pkt.ip and pkt.ip.proto or 0
  taken[key] = (taken[key] or 0) + seen
  region[key] = #pkt
  ports[key] = seen
  interfaces[key] = key
  print(taken[key], region[key], ports[key], interfaces[key])
  if seen == 3 then error("x" .. key) end
end)
