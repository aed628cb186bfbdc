-- Packets that become longer and shorter in front: what is read afterwards, and that nothing else has changed.
-- frames: all truncated:udp truncated:tcp6
local xdp = require "xdp"

xdp.attach(function(pkt, arg)
  local ip, first = pkt.ip, pkt:getstring(0, 14)
  if not ip or pkt.vlan then return end
  pkt:grow(6, "head")
  print(#pkt, pkt:getuint32(0), pkt:getuint16(4), pkt:getstring(6, 14) == first, pkt.ip == nil, ip.ttl)
  print(arg:getuint16(0), pkt.tcp == nil, pkt.udp == nil)
  pkt:setstring(0, "abcdef")
  pkt:grow(pkt:getuint8(1) & 63, "head")
  print(pkt:checksum(), #pkt, pkt:getstring(0, 40))
  pkt:shrink(#first + 20, "head")
  print(pkt:getstring(0, 20))
  pkt:shrink(6, "head")
  print(pkt:getstring(0, 14) == first, pkt:checksum(), pkt.ip.dst, arg:getuint16(0), pkt.payload)
  pkt:grow(0, "head")
  print(#pkt, ip.ttl)
end)
