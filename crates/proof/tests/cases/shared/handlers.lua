-- Two handlers and their functions share tables.
-- frames: tcp udp tcp udp6 syn
local xdp = require "xdp"
local counts, order = {}, {}
local state = { counts = counts }
local function count(t, key, by)
  t[key] = (t[key] or 0) + (by or 1)
  return t[key]
end
xdp.attach(function(pkt)
  print("first", count(counts, pkt.ip.proto), count(state.counts, pkt.ip.proto, 10))
  order[#pkt] = pkt.ip.proto
end)
xdp.attach(function(pkt)
  print("second", counts[6], counts[17], order[#pkt])
  local n = count(counts, 17, 100)
  if n > 500 then return 1 end
end)
