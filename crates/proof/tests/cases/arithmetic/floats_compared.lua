-- Comparison of floats and integers is exact, NaN equals nothing, and loops over floats.
-- frames: udp tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  local x, nan = n / 2, (n - n) / (n - n)
  print(x < n, x <= n, x > n, x == n // 2, x ~= x, nan ~= nan, nan < x, nan >= x, 2 * x == n)
  local large = (1 << 53) + n - n
  print(large + 1 == large + 0.0, large + 1 > large + 0.0, large < large + 0.0, math.maxinteger + n - n < 2.0 ^ 2 * 2305843009213693952.0)
  for i = n / 4, n / 2, 3.5 do print(i) end
  for i = n, n - 1.5, -0.5 do print(i) end
  for i = 1.0, 3 do print(i, math.type(i)) end
  for i = 1, nan do print("never", i) end
  for i = 1.0, nan do print("once", i) end
  local least = math.huge
  for i = 1, 5 do least = math.min(least, x / i) end
  print(least, math.max(x, n), math.max(x, 1), math.min(n / 2, n // 2))
end)
