-- Addresses out of parts of a payload, several of them, in a loop; and out of what is known.
-- frames: udp:192.0.2.7,::1,,10.0.0.300,2001:db8::7 udp: udp:,, udp6 udp
local xdp = require "xdp"
local ip, mac = require "ip", require "mac"

xdp.attach(function(pkt)
  local header = pkt.ip
  if not header then return 1 end
  print(ip.parse(header.src) == header.src, ip.parse(pkt.eth.src), mac.parse(header.dst), mac.parse(pkt.eth.dst))
  print(ip.parse("1.2.3.4"), ip.parse("1.2.3"), ip.parse("0::0"), ip.parse(17), ip.parse(17 + #pkt), mac.parse(#pkt))
  local count = 0
  for part in (pkt.payload or ""):gmatch("[^,]+") do
    local address = ip.parse(part)
    if address then
      count = count + 1
      print(count, part, address, ip.prefix(address, 16))
    end
  end
  print(select("#", ip.parse("")), count)
end)
