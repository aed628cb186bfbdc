-- Keys that are constant names at one place, and names of a list of tables at another: one table of counts.
-- frames: udp udp tcp
local xdp = require "xdp"
local parts = { { name = "first", byte = 1 }, { name = "second", byte = 2 } }
local counts, seen = {}, {}
seen.total = 0
xdp.attach(function(pkt)
  for _, p in ipairs(parts) do
    counts[p.name] = (counts[p.name] or 0) + p.byte
    print(p.name, counts[p.name])
  end
  seen.total = seen.total + 1
  local name = pkt.tcp and "tcp" or "total"
  print(seen[name], counts.first)
end)
