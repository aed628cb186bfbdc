-- Indexing what is no table.
-- frames: hex:0000000000000000000000000000 hex:0100000000000000000000000000 hex:0200000000000000000000000000 hex:0300000000000000000000000000
local xdp = require "xdp"
local t = { [0] = { x = { y = 1 } }, { x = 5 }, {} }
xdp.attach(function(pkt)
  local row = t[pkt:getuint8(0)]
  print(type(row.x))
  print(row.x.y)
end)
