-- concat, pack, unpack, move, create with ranges (manual § 6.7).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000
local xdp = require "xdp"
local function try(f, ...) return (select(2, pcall(f, ...))) end
local function show(t, from, to) local all = {} for i = from or 1, to or #t do all[#all + 1] = tostring(t[i]) end return table.concat(all, " ") end
xdp.attach(function(pkt)
  local n, m = pkt:getuint8(0), pkt:getuint8(1)
  local t = { n, "two", m, "four" }
  print(table.concat(t), table.concat(t, ","), table.concat(t, ", ", 2), table.concat(t, "-", 2, 3), table.concat(t, "-", 3, 2), table.concat({}), table.concat(t, n, 1, 2))
  print(try(table.concat, { 1, {}, 3 }), try(table.concat, { 1, 2 }, ",", 1, 3), try(table.concat, { true }), try(table.concat, n), try(table.concat, t, {}))
  print(try(table.concat, { n, nil, m }, ",", 1, 3), try(table.concat, setmetatable({}, { __index = function(_, i) return i end }), " ", 5, 8))
  print(table.unpack(t), table.unpack(t, 2), (table.unpack(t, n)))
  print(table.unpack(t, 2, 3), table.unpack(t, -1, 1), select("#", table.unpack(t, 1, n)), select("#", table.unpack({}, 1, 3)))
  print(try(table.unpack, {}, 1, 1 << 30), try(table.unpack, t, "x"), try(table.unpack), try(table.unpack, t, math.mininteger, math.maxinteger))
  print(select("#", table.unpack({}, math.maxinteger, math.maxinteger - 1)), table.unpack("abc", 1, n % 3))
  local p = table.pack(n, nil, m, nil)
  print(p.n, p[1], p[2], p[3], p[4], table.pack().n, #table.pack(n, m))
  print(show(table.move({ 1, 2, 3 }, 1, 3, 2)), show(table.move({ 1, 2, 3 }, 2, 3, 1)), show(table.move(t, 1, 4, 3, {}), 1, 6), show(table.move(t, 2, 1, 1, { "kept" })))
  print(show(table.move({ 1, 2, 3, 4, 5 }, 1, n, 3), 1, 8), show(table.move({ 1, 2, 3, 4, 5 }, n, 5, 1), 1, 6))
  print(try(table.move, t, 1, 2), try(table.move, t, 1, math.maxinteger, 2), try(table.move, t, 1, 2, math.maxinteger), try(table.move, n, 1, 2, 3), try(table.move, t, 1, 2, 3, n))
  local log = {}
  local proxy = setmetatable({}, { __index = function(_, i) log[#log + 1] = "get" .. i return i end, __newindex = function(_, i, v) log[#log + 1] = "set" .. i end })
  table.move(proxy, 1, 2, 5)
  print(table.concat(log, " "))
  local c = table.create(n, m)
  c[1], c.x = n, m
  print(#c, c.x, try(table.create, -1), try(table.create))
end)
