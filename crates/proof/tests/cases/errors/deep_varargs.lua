-- A function with varargs that calls itself without end: the stack of calls has an end, and nothing behind it is overwritten.
-- frames: udp udp
local xdp = require "xdp"
local function f(...) return 1 + f(...) end
xdp.attach(function(pkt)
  local a, b, c = 1, "two", #pkt
  local ok = pcall(f, 1)
  print(ok, a, b, c)
end)
