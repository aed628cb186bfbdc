-- Operators bind as the manual's table says (§ 3.4.8).
-- frames: tcp icmp hex:000102030405060708090a0b0c0d0e0f
local xdp = require "xdp"
xdp.attach(function(pkt)
  local a, b, c = pkt:getuint8(0), pkt:getuint8(6) + 1, pkt:getint8(13)
  print(a + b * c, (a + b) * c, a - b - c, -a * b, not a == b, a << 1 + 2, a & b == 0 and 1 or 2, a | b ~ c & 7)
  print(a // b * b + a % b == a, c // b * b + c % b == c, -c % 5, -(c % 5), - -c, a .. b .. c, a + 1 .. "x")
  print(a < b and b < 300, a < b or c, not (a < b), 1 .. 2 == "12", #"abc" + a, -c // 2, ~c >> 60)
end)
