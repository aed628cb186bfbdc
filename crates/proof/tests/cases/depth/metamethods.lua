-- Chains of metamethods: __index by tables and functions, __call, operators on operators' results.
-- frames: udp tcp tls
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  local t = { deep = n }
  for i = 1, 60 do t = setmetatable({ ['k' .. i] = i }, { __index = t }) end
  print(t.deep, t.k1, t.k60, t.none)
  local f = function(_, key) return key .. n end
  for i = 1, 20 do local inner = f f = setmetatable({}, { __index = i % 2 == 0 and inner or function(_, key) return type(inner) == 'function' and inner(nil, key) or inner[key] end }) end
  print(f.key)
  local v = { value = n }
  local mt = {}
  mt.__add = function(a, b) return setmetatable({ value = (type(a) == 'table' and a.value or a) + (type(b) == 'table' and b.value or b) }, mt) end
  mt.__call = function(self, x) return x == 0 and self.value or self(x - 1) end
  mt.__lt = function(a, b) return a.value < b.value end
  setmetatable(v, mt)
  print((v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v + v).value, v(40), v < v + 1)
  for depth = 14, 17 do
    local c = function(...) return select("#", ...) end
    for i = 1, depth do c = setmetatable({}, { __call = c }) end
    print(depth, pcall(c, n), pcall(function() return (c(n, n)) end))
    print(pcall(function() return c(n) end))
    print(pcall(setmetatable({}, { __call = n })))
    print(pcall(c), pcall(string.rep))
  end
end)
