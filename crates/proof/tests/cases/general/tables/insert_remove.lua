-- insert and remove at every position, on tables with metamethods, and their errors (manual § 6.7).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000 hex:0602000000000000000000000000
local xdp = require "xdp"
local function try(f, ...) return (select(2, pcall(f, ...))) end
local function show(t) local all = {} for i = 1, #t do all[i] = tostring(t[i]) end return #t .. "[" .. table.concat(all, " ") .. "]" end
xdp.attach(function(pkt)
  local n, m = pkt:getuint8(0), pkt:getuint8(1)
  local t = {}
  for i = 1, n do table.insert(t, i * m) end
  print(show(t))
  table.insert(t, 1, "first")
  table.insert(t, #t + 1, "last")
  table.insert(t, #t, "before last")
  print(show(t), table.remove(t, 1), table.remove(t), table.remove(t, #t), show(t))
  print(table.remove(t, #t + 1), table.remove(t), table.remove({}), table.remove({}, 0), table.remove({ [0] = "zero" }, 0), show(t))
  while #t > 0 do table.remove(t, 1) end
  print(show(t), table.remove(t, #t), select("#", table.remove(t)), select("#", table.insert(t, n)))
  local log = {}
  local p = setmetatable({}, { __len = function() return 2 end,
    __index = function(_, i) log[#log + 1] = "get" .. i return i * 10 end,
    __newindex = function(_, i, v) log[#log + 1] = "set" .. i .. "=" .. tostring(v) end })
  table.insert(p, "x")
  table.insert(p, 1, "y")
  print(table.remove(p), table.remove(p, 1), table.concat(log, " "))
  print(try(table.insert, { 1, 2 }, 5, n), try(table.insert, { 1 }, 0, n), try(table.insert, { 1 }, -1, n))
  print(try(table.insert, { 1 }), try(table.insert), try(table.insert, n, 1), try(table.insert, nil, n), try(table.insert, { 1 }, "x", 2))
  print(try(table.insert, { 1 }, 1, 2, 3), try(table.insert, { 1 }, "1", n) == nil)
  print(try(table.remove, { 1, 2, 3 }, 7), try(table.remove, { 1 }, -1), try(table.remove, n), try(table.remove), try(table.remove, { 1, 2 }, {}))
  print(pcall(function() local list = nil; table.insert(list, n) end))
end)
