-- Generic for: iterators with and without state, break, closing value, no iterator (manual § 3.3.5).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000
local xdp = require "xdp"
local function upto(limit, i) i = i + 1 if i <= limit then return i, i * 10, "third" end end
local function down(n) return function() n = n - 1 if n >= 0 then return n end end end
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  for i in upto, n, 0 do print(i) end
  for i, v, third, none in upto, n, 0 do print(i, v, third, none) v = nil end
  for i in down(n) do print("down", i) if i == 1 then break end end
  for i, v in ipairs { "a", "b", nil, "d" } do print(i, v) end
  for i, v in ipairs({}) do print("never", i, v) end
  local sum, keys = 0, 0
  for k, v in pairs { n, n + 1, x = 7, [true] = 8 } do sum, keys = sum + v, keys + 1 end
  print(sum, keys)
  for k, v in next, { n } do print(k, v) end
  local closed = 0
  local function closer() return setmetatable({}, { __close = function(_, e) closed = closed + 1 print("closed", e) end }) end
  for i in upto, 2, 0, closer() do print("a", i) end
  for i in upto, 9, 0, closer() do if i > n then break end end
  print(pcall(function() for i in upto, 9, 0, closer() do error("at " .. i, 0) end end))
  print((function() for i in upto, 9, 0, closer() do return i, n end end)())
  print(closed)
  local all = {}
  for i in upto, 3, 0 do all[i] = function() return i end end
  print(all[1](), all[2](), all[3]())
  print(pcall(function() for i in n do print(i) end end))
  print(pcall(function() for i in nil do print(i) end end))
  print(pcall(function() for i in {} do print(i) end end))
  print(pcall(function() local iterate for i in iterate, n do print(i) end end))
  print(pcall(function() for i in upto, 3, 0, n do print(i) end end))
  for k, v in pairs(setmetatable({}, { __pairs = function() return upto, 2, 0 end })) do print(k, v) end
end)
