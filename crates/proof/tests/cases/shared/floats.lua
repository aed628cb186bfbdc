-- Tables of floats: declared, inferred from load time and from assignments, in records, beside lifetimes and evictions.
-- frames: udp tcp udp udp6 tcp arp udp
local xdp = require "xdp"
local averages = {}
local weights = { [1] = 0.5, [2] = -0.0, [3] = 1e300, [4] = math.huge, [5] = -math.huge }
local declared = map { key = "int", value = "float", capacity = 100 }
local aged = map { key = "int", value = { mean = "float", n = "int", name = "string:8" }, capacity = 100, ttl = 3600 }
declared[7] = 0.1
xdp.attach(function(pkt)
  local k = #pkt % 3
  local before = averages[k]
  averages[k] = (before or 0.0) * 0.875 + #pkt / 8
  print(before, averages[k], averages[k] == before, averages[k] > 10, averages[k] // 1, math.type(averages[k]))
  weights[k + 1] = weights[k + 1] + 0.25
  print(weights[1], weights[2], weights[3], weights[4], weights[5], weights[6])
  declared[k] = #pkt / 2
  declared[k + 0.0] = declared[k] + (declared[7] or 0)
  declared[#pkt / 1] = 3.5
  print(declared[k], declared[k / 1], declared[k + 0.5], declared[7], declared[#pkt])
  if k == 1 then declared[7] = nil end
  local r = aged[k]
  if r then
    r.mean = (r.mean or 0.0) + (#pkt - (r.mean or 0.0)) / (r.n + 1)
    r.n = r.n + 1
    if r.n == 3 then r.mean = nil end
  else
    aged[k] = { mean = #pkt / 1, n = 1, name = "k" .. k }
  end
  print(aged[k].mean, aged[k].n, aged[k].name)
  local sum = 0.0
  for _, v in pairs(averages) do sum = sum + v end
  print(sum > 0, weights[2] < weights[3], not weights[4], weights[1] ~= weights[2])
end)
