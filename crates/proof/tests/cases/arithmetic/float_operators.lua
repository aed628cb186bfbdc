-- Operators whose operands are floats, or that give floats of integers: rounding, signs of zeros, infinities, what is no number.
-- frames: udp tcp icmp arp
local xdp = require "xdp"
local huge, nan = math.huge, 0 / 0
xdp.attach(function(pkt)
  local n = #pkt
  local third, half = n / 3, n / 2
  print(third, half, half * third, half - third, third + 0.1, -third, -(n / 1))
  print(n / 0, -n / 0, (n - n) / 0, 0 * -half, half % 7, -half % 7, half % -7, -half % -7, half % huge, -half % huge)
  print(third // 1, -third // 1, half // 0, n // 0.25, 7.5 // half, n % 2.5, 2.5 % n, n * 0.1, 1e308 * n, 5e-324 / n)
  print(third ^ 2, n ^ 2, "10" / n, "0.5" * n, n // "2.5", -("1.5" + n))
  print(huge - half * huge, nan + half, half * nan, half % nan, half % 0, huge % half, half // nan)
  print(9007199254740993 + half - half, math.maxinteger / n, (math.maxinteger - n) + 0.0, math.mininteger + n + 0.0)
end)
