-- The numeric `for` (manual § 3.3.5): the number of turns is computed before, so nothing overflows.
-- frames: hex:05030201fffefd0a000306090c00 tcp hex:ff7f00ff00000000000000000000
local xdp = require "xdp"
local function count(from, to, step)
  local turns, last = 0, nil
  for i = from, to, step do
    turns, last = turns + 1, i
    if turns == 20 then break end
  end
  return turns, last
end
xdp.attach(function(pkt)
  local a, b, c = pkt:getint8(0), pkt:getint8(1), pkt:getint8(2)
  print(count(a, b, 1))
  print(count(b, a, 1))
  print(count(a, b, -1))
  print(count(b, a, -1))
  print(count(a, b, 3))
  print(count(a, -b, -3))
  print(count(1, a, 2))
  print(count(a, 1, -2))
  print(count(math.maxinteger - a, math.maxinteger, 1))
  print(count(math.maxinteger - a, math.maxinteger, 2))
  print(count(math.mininteger + a, math.mininteger, -3))
  print(count(math.mininteger, math.maxinteger, math.maxinteger))
  print(count(math.maxinteger, math.mininteger, math.mininteger))
  print(count(a, a, c | 1))
  print(count(a, b, c | 1))
  print(count(1, 10, 1))
  print(count(10, 1, 1))
  print(count(10, 1, -4))
end)
