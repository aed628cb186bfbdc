-- Functions of the library by names that stand only in tables of load time.
-- frames: tcp udp tls
local xdp = require "xdp"
local steps = { "lower", "reverse" }
local numbers = { highest = "max", lowest = "min" }
local parts = { "concat", { "math", "abs" } }
xdp.attach(function(pkt)
  local s = pkt.payload or "Some Text"
  s = s:sub(1, 12)
  for _, f in ipairs(steps) do s = string[f](s) end
  print(s:byte(1, 3))
  print(math[numbers.highest](1, #pkt), math[numbers.lowest](1, #pkt), table[parts[1]]({ 1, 2 }, "-"))
  print(_G[parts[2][1]][parts[2][2]](-3), (s)[steps[1]]("XY"))
end)
