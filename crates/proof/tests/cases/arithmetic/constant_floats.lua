-- Floats that are known when the script is compiled, next to integers of packets: compared, rounded, negated, as bounds and arguments.
-- frames: udp tcp
local xdp = require "xdp"
local huge, low = math.huge, -math.huge
xdp.attach(function(pkt)
  local n = #pkt
  print(n < math.huge, n == 1.0, n > -math.huge, 52 == n, n == 52.0, n ~= 52.5, n <= 1e300, n < 52.5, n >= 51.5, n > huge, n < low)
  print(math.floor(1.5), math.ceil(1.5), math.floor(-1.5), math.ceil(-1.5), math.floor(2.0), math.ceil(-0.5), math.floor(n), math.ceil(n))
  print(math.tointeger(3.0), math.tointeger(3.5), math.type(1.5), math.floor(1e300) == 1e300, math.abs(-2.5) == 2.5, -huge == low)
  print(math.min(n, math.huge), math.max(n, -math.huge), math.max(1.5, 2.5) == 2.5, math.min(huge, low) == low)
  print(pkt:getbyte(14.0), ("x"):rep(3.0), ("abc"):sub(2.0, 3.0), string.format("%d", 3.0))
  local count = 0
  for i = 1, 3.7 do count = count + i end
  for i = 1, math.huge do
    if i > 5 then break end
    count = count + i
  end
  print(count)
end)
