-- Integer arithmetic beside all operators with constants on either side, precedence, division by zero (manual § 3.4.1–3.4.8).
-- frames: hex:0700000000000080fdffffffffffffff00 hex:00000000000000800000000000000000ff hex:ffffffffffffff7f010000000000000040
local xdp = require "xdp"
local function try(f, ...) return (select(2, pcall(f, ...))) end
xdp.attach(function(pkt)
  local a, b, c = pkt:getint64(0), pkt:getint64(8), pkt:getuint8(16)
  print(a + b, a - b, a * b, try(function() return a // b end), try(function() return a % b end))
  print(a + 1, 1 + a, a - 1, 1 - a, a * 3, -3 * a, a // 3, a // -3, a % 3, a % -3, try(function() return 7 // b end))
  print(a & b, a | b, a ~ b, ~a, a << c, a >> c, a << 1, 1 << c, a >> 63, -a, - -a, a // 1, a % 1, a // -1, a % -1)
  print(try(function() return a // 0 end), try(function() return a % 0 end), try(function() return 1 // (c - c) end))
  print(2 + 3 * c - 4 // 2, -c // 2, 2 - -c, 1 << 2 + 1, 7 & 3 << 1, 1 | 6 ~ 3 & 5, not c == nil, -2 * -c, "a" .. 1 + 2)
  print(c << 64, c >> 64, c << -1, c >> -1, a << -c, a >> -c, c < 100 == true, 1 .. 2 == "12", 2 * 3 % 4)
  print(math.maxinteger + c, math.mininteger - c, math.maxinteger * 2, math.mininteger // -1, math.mininteger % -1)
  print(0x7fffffffffffffff, 0xffffffffffffffff, 0x10000000000000001, -9223372036854775807 - 1, a == b, a < b, math.ult(a, b))
end)
