-- Library functions of tables as values, called with too much, in open lists and in tail position; metamethods that they call (manual § 6.7).
-- frames: hex:0305010000000000000000000000
local xdp = require "xdp"
local functions = {
  table.insert, table.remove, table.concat, table.unpack, table.pack, table.move, table.sort, table.create, pairs, ipairs,
  rawget, rawset, rawlen, rawequal, select, setmetatable, getmetatable, type, string.rep, string.format, string.gsub,
}
xdp.attach(function(pkt)
  local t = { 3, 1, 2, n = 5 }
  for i = 1, #functions do
    local ok, result = pcall(functions[i], t, 1, 2, 3)
    if type(result) == "table" or type(result) == "function" then result = type(result) end
    print(i, ok, result, #t, t[1], t[2], t.n)
  end
  local function f() return table.unpack({ 1, 2, 3 }) end
  print(f(), (f()), select("#", f()), table.concat({ f() }, "-"))
  local function g(...) return select(2, ...) end
  local function h(...) return rawequal(...) end
  print(g(1, 2, 3), h(t, t), h(1, 1.0))
  local m = setmetatable({}, { __index = function(_, k) return k * 2 end, __len = function() return 4 end, __newindex = function(o, k, v) rawset(o, k, v) end })
  print(table.concat(m, ","), table.unpack(m))
  table.insert(m, 9)
  print(rawget(m, 5), rawlen(m), table.remove(m), #m)
  for i, v in ipairs(m) do if i > 3 then break end print(i, v) end
  local words = {}
  for w in ("the quick brown fox"):gmatch("%a+") do table.insert(words, 1, w) end
  table.sort(words)
  print(table.concat(words, " "))
  table.sort(words, function(a, b) return #a < #b or #a == #b and a < b end)
  print(table.concat(words, " "))
  print(pcall(table.sort, { 1, "x" }), pcall(table.insert, t), pcall(rawset, t, nil, 1), pcall(next, t, "no"))
  return 2
end)
