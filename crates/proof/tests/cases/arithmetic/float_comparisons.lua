-- Floats, and integers with floats, in order and for equality: exactly, without rounding one to the other.
-- frames: udp tcp
local xdp = require "xdp"
local huge, nan = math.huge, 0 / 0
local function compare(a, b)
  print(a < b, a <= b, a > b, a >= b, a == b, a ~= b)
end
xdp.attach(function(pkt)
  local n = #pkt
  local float, half = n / 1, n / 2
  compare(n, float)
  compare(n, half)
  compare(half, n)
  compare(half, float)
  compare(-half, half)
  compare(float, nan)
  compare(n, huge * half)
  compare(n, -huge * half)
  compare(half * nan, half)
  compare(0 * half, -0.0 * half)
  local far = n - n + (1 << 53)
  compare(far + 1, far / 1)
  compare(far / 1, far + 1)
  compare(math.maxinteger - n + n, 2.0 ^ 62 * half / half * 2)
  compare(math.mininteger - n + n, -(2.0 ^ 62) * half / half * 2)
  if half < n and half > 1.5 and not (half ~= half) then print("within", half == n / 2, n == n / 1) end
  local kind = half == half // 1 and "even" or "odd"
  print(kind, rawequal(half, n / 2), rawequal(n, float), (half < n) == true)
end)
