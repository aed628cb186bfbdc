-- Every setter; low bits only; what was read before stays what it was.
-- frames: tcp udp tls6 hex:ff80fe7f0180ff7f8081828384858687a0a1a2a3a4a5a6a7a8a9aaabacadaeaf
local xdp = require "xdp"
xdp.attach(function(pkt)
  local before, text = pkt:getuint32(4), pkt:getstring(0, 6)
  pkt:setbyte(0, 0x1ff)
  pkt:setuint8(1, -1)
  pkt:setint8(2, 300)
  pkt:setuint16(3, 0x12345)
  pkt:setint16(5, -2)
  pkt:setuint32(7, 0x123456789)
  pkt:setint32(8, before)
  local at = pkt:getuint8(11) & 7
  pkt:setint64(at, before * before)
  pkt:setnumber(at + 3, ~before)
  pkt:setstring(at + 8, "xyz")
  pkt:setstring(20, text)
  pkt:setstring(#pkt, "")
  print(before, text, pkt:getuint32(4), pkt:getstring(0, 6), pkt:getint64(at), #text)
  pkt:setstring(2, pkt:getstring(0, 12))
  pkt:setstring(0, pkt:getstring(3, 10))
  pkt:setuint8(#pkt - 1, #pkt)
  print(pkt:getstring(0, 16))
  return 3
end)
