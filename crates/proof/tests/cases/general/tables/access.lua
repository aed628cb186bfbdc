-- Tables made of packets: keys of every type, growth, holes that are filled, removal, tables as keys (manual § 2.1, § 3.4.9).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000 hex:2802000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n, m = pkt:getuint8(0), pkt:getuint8(1)
  local t = {}
  for i = n, 1, -1 do t[i] = i * m end
  print(#t, t[1], t[n], t[n + 1], t[0])
  for i = n + 1, n + 40 do t[i] = i end
  print(#t, t[n + 40])
  for i = #t, 4, -1 do t[i] = nil end
  print(#t <= 3, t[3], t[4])
  local keys = { [1] = "int", ["1"] = "string", [true] = "true", [false] = "false", [math.maxinteger] = "max", [math.mininteger] = "min", [""] = "empty", ["a\0b"] = "nul" }
  print(keys[1 + n - n], keys["" .. 1], keys[n > 2], keys[n <= 2], keys[math.maxinteger], keys[math.mininteger], keys[("x"):rep(0)], keys["a\0" .. "b"], keys["a"])
  local a, b = {}, {}
  local set = { [a] = "a" .. n, [b] = "b", [print] = "print" }
  set[a] = set[a] .. "!"
  print(set[a], set[b], set[{}], set[print], set[nil], set[n])
  t = { x = { y = { z = n } } }
  t.x.y.z = t.x.y.z + 1
  t.x["y"].w = t.x
  print(t.x.y.z, t.x.y.w.y.w == t.x, t.x.missing)
  local matrix = {}
  for i = 1, 3 do matrix[i] = {} for j = 1, 3 do matrix[i][j] = i * n + j end end
  print(matrix[2][3], matrix[3][1 + n % 3], #matrix, #matrix[1])
  local strings = {}
  for i = 1, 60 do strings["key" .. i * m] = i end
  local sum = 0
  for k, v in pairs(strings) do sum = sum + v * #k end
  print(sum, strings["key" .. m], strings["key" .. 60 * m], strings.key0)
  print(pcall(function() t[nil] = n end))
  print(pcall(function() t.x.nothing.z = n end))
  print(pcall(function() return t[n][n] end))
  print(pcall(rawset, {}, nil, n))
end)
