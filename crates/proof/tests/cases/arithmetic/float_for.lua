-- Loops that count floats, and float limits of loops that count integers.
-- frames: udp tcp
local xdp = require "xdp"
local huge, nan = math.huge, 0 / 0
local function loop(from, to, step)
  local count, sum = 0, 0
  for i = from, to, step do
    count = count + 1
    sum = sum + i
    if count == 20 then break end
  end
  print(count, sum, math.type(sum))
end
xdp.attach(function(pkt)
  local n = #pkt
  local half = n / 2
  for x = 0, half, half / 4 do print(x) end
  for x = half, 0.5, -half / 3 do print(x) end
  for x = n, n + 1, 0.25 do print(x) end
  loop(1, half, 1)
  loop(1, half / 10, 1)
  loop(n, -half, -25)
  loop(1, half * huge, 10)
  loop(1, -half * huge, 10)
  loop(n, -half * huge, -10)
  loop(n, half * huge, -10)
  loop(1, half * nan, 1)
  loop(1, half * nan, -1)
  loop(1.0, 3, 1)
  loop(half, n, half * huge)
  loop(1, "3", 0.5)
  loop(half * nan, 1, 1)
  for i = 1, 3.5 + n - n do print(i) end
  print(pcall == nil)
  if pkt.tcp then loop(1, n, 0 * half) end
  loop(1, n, n > 5 and {} or half)
end)
