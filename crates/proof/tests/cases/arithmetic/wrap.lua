-- Integers wrap around (manual § 3.4.1).
-- frames: hex:ffffffffffffff7f0000000000000080ffffffffffffffff tcp tls6
local xdp = require "xdp"
xdp.attach(function(pkt)
  local a, b = pkt:getint64(0), pkt:getint64(6)
  print(a + 1, a - 1, a + a, a * a, a * 3, -a, a + b, a - b, a * b, b - a)
  print(a + math.maxinteger, a - math.mininteger, a * math.mininteger, math.mininteger - a)
  local c = pkt:getint32(2)
  print(c * c, c * 0x7fffffff, c + 0x7fffffff, c - 0x80000000, c << 32, (c << 32) >> 32, c * 0x100000001)
  local d = pkt:getuint32(2)
  print(d * d, d * 0xffffffff, d + 0xffffffff, -d, ~d, d - 0xffffffff)
end)
