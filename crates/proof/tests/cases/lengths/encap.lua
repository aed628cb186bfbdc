-- IP packets inside others, of either version, and taken out again.
-- frames: all truncated:udp truncated:tcp6
local xdp = require "xdp"

xdp.attach(function(pkt)
  local ip, all = pkt.ip, tostring(pkt)
  if not ip or pkt.vlan or ip.length == 40 and ip.version == 6 then return end
  pkt:encap("192.0.2.1", "198.51.100.7")
  print(#pkt, ip.version, ip.src, ip.dst, ip.length, ip.ttl, ip.tos, ip.proto, ip.dont_fragment, ip.id, ip.checksum)
  print(pkt:checksum(14, 20), pkt.eth.type, pkt.tcp == nil and pkt.udp == nil, #pkt:getstring(34))
  if ip.version == 4 then pkt:decap() end
  print(tostring(pkt) == all, ip.version, ip.dst, pkt.eth.type, pkt.payload)
end)
