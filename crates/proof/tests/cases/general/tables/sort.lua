-- sort with and without a comparator, of integers, strings and mixed, of all sizes (manual § 6.7).
-- frames: hex:0305010709020408060a0c0b0d0e0f1011 hex:ffffffff00000000ffff000000000001 udp:the\squick\sbrown\sfox\sjumps\sover\sa\slazy\sdog
local xdp = require "xdp"
local function try(f, ...) return (select(2, pcall(f, ...))) end
local function show(t) return table.concat(t, " ") end
xdp.attach(function(pkt)
  local bytes, words = { pkt:getstring(0, 14):byte(1, -1) }, {}
  for w in tostring(pkt):gmatch("%a+") do words[#words + 1] = w end
  table.sort(bytes)
  print(show(bytes))
  table.sort(bytes, function(a, b) return a > b end)
  print(show(bytes))
  table.sort(bytes, function(a, b) if a % 4 ~= b % 4 then return a % 4 < b % 4 end return a < b end)
  print(show(bytes))
  table.sort(words)
  print(show(words))
  table.sort(words, function(a, b) if #a ~= #b then return #a < #b end return a > b end)
  print(show(words))
  local rows = {}
  for i, b in ipairs(bytes) do rows[i] = { key = b % 5 * 100 + i, name = "r" .. i } end
  table.sort(rows, function(a, b) return a.key < b.key end)
  for i = 1, 5 do print(i, rows[i].key, rows[i].name) end
  local big = {}
  for i = 1, 150 do big[i] = (i * 7919 + bytes[1]) % 257 end
  table.sort(big)
  local ok = true
  for i = 2, #big do ok = ok and big[i - 1] <= big[i] end
  print(ok, big[1], big[75], big[150])
  local byone, sorted, empty = { bytes[1] }, { 1, 2, 3 }, {}
  table.sort(byone) table.sort(sorted) table.sort(empty)
  print(show(byone), show(sorted), show(empty), show(bytes) == show(bytes))
  local objects = {}
  for i = 1, 4 do objects[i] = setmetatable({ v = bytes[i] * 10 + i }, { __lt = function(a, b) return a.v < b.v end }) end
  table.sort(objects)
  print(objects[1].v, objects[2].v, objects[3].v, objects[4].v)
  print(try(table.sort, { 3, "x" }), try(table.sort, { {}, {} }), try(table.sort, { 2, 1 }, function() error("in order", 0) end))
  print(try(table.sort), try(table.sort, { 1, 2 }, 5), try(table.sort, nil))
end)
