-- Signed comparison of every order, with constants at the borders.
-- frames: tcp hex:0000000000000080ffffffffffffff7f hex:ffffffffffffffff0000000000000000 hex:00000080000000000000007f00000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local a, b = pkt:getint64(0), pkt:getint64(8 - (#pkt == 16 and 0 or 2))
  print(a < b, a <= b, a > b, a >= b, a == b, a ~= b)
  print(a < 0, a <= 0, a > 0, a >= 0, a == 0, a ~= 0, 0 < a, 0 <= a)
  print(a < math.mininteger, a <= math.mininteger, a > math.maxinteger, a >= math.maxinteger, a == math.mininteger)
  print(a < 0x80000000, a > 0x7fffffff, a == 0xffffffff, a < -0x80000000, math.ult(a, b), math.max(a, b, 3), math.min(a, b, 3))
  local c, d = pkt:getint32(0), pkt:getuint32(4)
  print(c < d, c <= d, c == d, c == -1, d == 0xffffffff, c < -1, d > 0x7fffffff)
  print(a == nil, a == "1", a == false, pkt.ip == nil, pkt.tcp ~= nil, "1" == 1, pkt == pkt, rawequal(a, b))
end)
