-- Entries of shared tables compared with themselves and with what was assigned.
-- frames: tcp udp short
local xdp = require "xdp"
local h = {}
xdp.attach(function(pkt)
  local e = h[#pkt]
  if not e then e = { c = 0, last = 2 } h[#pkt] = e end
  local x = h[#pkt]
  x.c = x.c + 1
  print(x == x, x ~= x, rawequal(x, x), x == nil, e.c > 0)
end)
