local xdp = require "xdp"
local hits = {}
xdp.attach(function(pkt)
  hits[#pkt] = 1
  local first = next(hits)
  print(first, next(hits, first))
end)
