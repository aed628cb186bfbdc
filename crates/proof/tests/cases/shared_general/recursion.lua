-- Functions that call themselves and that get the table as an argument.
-- frames: tcp udp tcp udp6 syn tcp
local xdp = require "xdp"
local depths = map { key = "int", value = "int" }
local flags = map { key = "boolean", value = "boolean" }
local all = { depths = depths, flags = flags }
local function add(t, k, n)
  t[k] = (t[k] or 0) + n
  return t[k]
end
local function walk(n)
  if n == 0 then return 0 end
  depths[n] = (depths[n] or 0) + walk(n - 1) + 1
  return add(all.depths, n, 1)
end
xdp.attach(function(pkt)
  local n = walk(#pkt % 6 + 1)
  local plain = {}
  print(n, add(plain, 1, 5), add(plain, 1, 5), add(depths, 100, n), depths[100], depths[3], depths[99])
  all.flags[n > 20] = not flags[n > 20]
  print(flags[true], flags[false], flags[nil], flags[1], next(plain))
  local old = depths[2]
  depths[2] = 1000
  depths[2] = (old or 0) + 1
  print(depths[2])
end)
