-- What is kept in tables comes out of objects, callbacks, extra arguments and variables of functions: types follow all the same.
-- frames: all
local xdp = require "xdp"
local Box = { __name = "Box" }
Box.__index = Box
function Box.new(v)
  return setmetatable({ v = v }, Box)
end
function Box:twice()
  return self.v * 2
end
Box.__add = function(a, b)
  return Box.new(a.v + b.v)
end
Box.__call = function(self, name)
  return name .. self.v
end
local function count(...)
  return select("#", ...), ...
end
local function apply(f, ...)
  return f(...)
end
local function remembered()
  local last = "none"
  return function(name) last = name end, function() return last end
end
local keep, kept = remembered()
local boxes, texts, tallies, sorted = {}, {}, {}, {}
xdp.attach(function(pkt)
  local n = #pkt & 3
  boxes[n] = { n = Box.new(n).v, twice = Box.new(n):twice(), sum = (Box.new(n) + Box.new(1)).v }
  print(boxes[n].n, boxes[n].twice, boxes[n].sum)
  local many, second = count(n, "x")
  keep(n > 1 and "much" or "little")
  texts[Box.new(n)("name")] = { many = many, kept = kept(), applied = apply(function(a, b) return a .. b end, "n", n) }
  for name, entry in pairs(texts) do
    if name == "name" .. n then print(name, entry.many, entry.kept, entry.applied, second) end
  end
  local ok, length = pcall(string.len, tostring(n))
  tallies[n] = ok and length or 0
  local list = { n + 3, n, n + 7 }
  table.sort(list, function(a, b) sorted[a & 1] = b; return a > b end)
  local replaced = ("a-b"):gsub("%a", function(letter) return letter:upper() end)
  print(tallies[n], sorted[0] ~= nil or sorted[1] ~= nil, list[1], replaced)
end)
