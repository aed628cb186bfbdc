-- __eq, __lt, __le (manual § 2.4): when they are called, with which operands, and mixed types.
-- frames: hex:0305000000000000000000000000 hex:0503000000000000000000000000 hex:0404000000000000000000000000
local xdp = require "xdp"
local calls = 0
local function value(x) return type(x) == "table" and x.v or x end
local meta = {
  __eq = function(a, b) calls = calls + 1 return a.v == b.v end,
  __lt = function(a, b) calls = calls + 1 return value(a) < value(b) end,
  __le = function(a, b) calls = calls + 1 return value(a) <= value(b) end,
}
local fixed = setmetatable({ v = 4 }, meta)
xdp.attach(function(pkt)
  local n, m = pkt:getuint8(0), pkt:getuint8(1)
  calls = 0
  local a, b = setmetatable({ v = n }, meta), setmetatable({ v = m }, meta)
  local bare = { v = n }
  print(a == b, a ~= b, a < b, a <= b, a > b, a >= b, calls)
  print(a < m, m < a, a <= 4, 4 <= a, a > 4, 4 > a, a >= m, calls)
  print(a == n, a == bare, bare == a, bare == { v = n }, a == a, rawequal(a, b), calls)
  print(fixed == a, fixed < a, a < fixed, fixed >= b, calls)
  local ok, e = pcall(function() return bare < { v = 1 } end)
  print(ok, e)
  print(pcall(function() return bare < n end))
  print(pcall(function() return a < "x" end))
  local list = { b, a, fixed, setmetatable({ v = 2 }, meta) }
  table.sort(list)
  print(list[1].v, list[2].v, list[3].v, list[4].v)
  print(math.max(n, m), math.max(a, b).v, pcall(math.min, a, "x"))
end)
