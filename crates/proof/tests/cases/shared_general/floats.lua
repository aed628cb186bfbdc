-- Tables of floats in general code, with types that follow from the bytecode.
-- frames: udp tcp udp arp tcp6
local xdp = require "xdp"
local means, ratios, last = {}, {}, { [0] = 1.5 }
local flows, keyed = {}, map { key = "int", value = "float", capacity = 10 }
local stats = map { key = "string:16", value = { mean = "float", n = "int" }, capacity = 100, ttl = 3600 }
local function smooth(old, new) return (old or 0.0) * 0.75 + new * 0.25 end
local function loop(n) if n == 0 then return 0 end return 1 + loop(n - 1) end
xdp.attach(function(pkt)
  local k = loop(#pkt % 3)
  means[k] = smooth(means[k], #pkt)
  ratios[tostring(k)] = #pkt / 7
  last[k / 1] = math.max(#pkt, 60.5) - math.sqrt(#pkt)
  print(means[k], ratios[tostring(k)], last[k], last[0], last[k + 0.5])
  local f = flows[k]
  if f then f.rate = f.rate * 0.5 else flows[k] = { rate = math.pi * k, seen = 1 } end
  print(flows[k].rate, flows[k].seen)
  local s = stats["s" .. k] or { mean = 0.0, n = 0 }
  stats["s" .. k] = { mean = s.mean + (#pkt - s.mean) / (s.n + 1), n = s.n + 1 }
  print(stats["s" .. k].mean, stats["s" .. k].n)
  for key, value in pairs(means) do if key == k then print(key, value, value > 1) end end
  print(pcall(function() keyed[k + 0.5] = 1.5 end))
end)
