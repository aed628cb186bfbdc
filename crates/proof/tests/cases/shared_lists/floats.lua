-- Floats in lists, declared and inferred.
-- general: lists as values, in general code
-- frames: udp tcp udp arp
local xdp = require "xdp"
local places = map { key = "string:8", value = { "float", "int", "float" }, capacity = 10, evict = "lru" }
local pairs_of = {}
xdp.attach(function(pkt)
  local k = #pkt % 3
  places["x"] = { #pkt / 4, k, k > 0 and 0.5 or nil }
  places["x"][1] = places["x"][1] * 2
  for i = 1, 4 do print(i, places["x"][i]) end
  pairs_of[k] = pairs_of[k] or { 1.5, 2.5 }
  pairs_of[k][2] = pairs_of[k][1] + pairs_of[k][2]
  print(pairs_of[k][1], pairs_of[k][2], #pairs_of[k])
end)
