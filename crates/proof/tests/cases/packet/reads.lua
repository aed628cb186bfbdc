-- Every accessor, at constant and at computed offsets.
-- frames: tcp udp icmp6 hex:ff80fe7f0180ff7f8081828384858687 hex:000102030405060708090a0b0c0d
-- frames: truncated:udp
local xdp = require "xdp"
xdp.attach(function(pkt)
  print(#pkt, pkt:getbyte(0), pkt:getuint8(1), pkt:getint8(1), pkt:getuint16(1), pkt:getint16(1))
  print(pkt:getuint32(1), pkt:getint32(1), pkt:getint64(1), pkt:getnumber(2))
  local at = pkt:getuint8(0) & 3
  print(at, pkt:getbyte(at), pkt:getuint8(at), pkt:getint8(at + 1), pkt:getuint16(at), pkt:getint16(at), pkt:getuint32(at))
  print(pkt:getint32(at + 1), pkt:getint64(at), pkt:getnumber(at + 2))
  print(pkt:getuint8(#pkt - 1), pkt:getuint16(#pkt - 2), pkt:getuint32(#pkt - 4), pkt:getint64(#pkt - 8))
  print(pkt:getint8(#pkt - 1), pkt:getint16(#pkt - 2), pkt:getint32(#pkt - 4), pkt:getnumber(#pkt - 8))
  print(pkt:getstring(0, 4), pkt:getstring(#pkt - 3), pkt:getstring(at, 2), #pkt:getstring(3), pkt:getstring(#pkt), pkt:getstring(5, 0))
end)
