-- Classes made at load time, instances made of packets: methods, overriding, calls of the parent, metamethods by copying.
-- frames: hex:0203050000000000000000000000 hex:ff80010000000000000000000000
local xdp = require "xdp"
local Shape = {}
Shape.__index = Shape
Shape.count = 0
function Shape.new(w, h) return setmetatable({ w = w, h = h }, Shape) end
function Shape:area() return self.w * self.h end
function Shape:describe() return self:kind() .. " of " .. self:area() end
function Shape:kind() return "shape" end
function Shape.__add(a, b) return Shape.new(a.w + b.w, a.h + b.h) end
function Shape.__eq(a, b) return a:area() == b:area() end
function Shape.__tostring(s) return s:describe() end
local Square = setmetatable({}, { __index = Shape, __call = function(class, side) return class.new(side) end })
Square.__index = Square
Square.__add, Square.__tostring = Shape.__add, Shape.__tostring
function Square.new(side)
  local self = Shape.new(side, side)
  self.side = side
  return setmetatable(self, Square)
end
function Square:kind() return "square" end
function Square:area() return Shape.area(self) + 0 end
local Named = setmetatable({}, { __index = Square })
Named.__index = function(t, k) if k == "name" then return "nobody" end return Named[k] end
function Named:kind() return self.name .. "'s " .. Square.kind(self) end
xdp.attach(function(pkt)
  local a, b, c = pkt:getint8(0), pkt:getint8(1), pkt:getuint8(2)
  local shape, square = Shape.new(a, b), Square(c)
  print(shape, square, shape + square, square + square, shape == Shape.new(b, a), shape:area(), square.side)
  local named = setmetatable(Square.new(a), Named)
  print(named:describe(), named.name, rawget(named, "name"))
  named.name = "n" .. c
  print(named:describe(), getmetatable(named) == Named, Named.new == Square.new, Square.describe == Shape.describe)
  for _, method in ipairs { "area", "kind", "describe" } do print(method, square[method](square)) end
  print(pcall(function() return square:missing() end))
  print(pcall(function() return Shape.area() end))
end)
