-- `select` with a number outside of the arguments.
-- frames: hex:0000000000000000000000000000 hex:0500000000000000000000000000 hex:fb00000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  print(select(pkt:getint8(0), "a", "b", "c"))
end)
