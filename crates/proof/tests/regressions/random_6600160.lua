-- Random program 6600160, made small: `x - 0` is compiled as an addition of the negated constant: the metamethod is `__sub`.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local C9 = { __name = "C9" }
function C9.new(v)
  return setmetatable({ v = v }, C9)
end
C9.__sub = function(a, b)
  return b
end
local C10 = setmetatable({}, { __index = C9 })
local o12 = C10.new(0)
xdp.attach(function(pkt)
  print(o12 - 0, o12 - 7)
end)
