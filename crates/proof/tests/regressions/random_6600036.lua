-- Random program 6600036, made small: `x << 0` is compiled as a right shift by the negated constant: the metamethod is `__shl`.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local C7 = { __name = "C7" }
function C7.new(v)
  return setmetatable({ v = v }, C7)
end
C7.__shl = function(a, b)
  return value(a) << (value(b) & 63)
end
local C8 = setmetatable({}, { __index = C7 })
local o9 = C8.new(0)
xdp.attach(function(pkt)
  math.randomseed((o9 << 0))
end)
