-- general: lists as values, in general code
-- frames: udp tcp udp:x
-- Sums of other places than the assigned one, by computed positions.
local xdp = require "xdp"
local l = {}
xdp.attach(function(pkt)
  local k, j = pkt:getuint8(14) & 3, pkt:getuint8(23) & 1
  -- The same place, and another, by computed positions.
  l[1] = l[1] or { 1, 2, 3, 4 }
  l[1][k + 1] = l[1][j + 1] + 1
  l[1][j + 1], l[1][k + 1] = l[1][j + 1] + 10, l[1][k + 1] + 20
  l[1][k] = (l[1][k + 2] or 0) + (l[1][k] or 0)
  print(l[1][1], l[1][2], l[1][3], l[1][4])
end)
