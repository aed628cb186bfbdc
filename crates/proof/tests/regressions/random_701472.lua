-- Random program 701472, made small: the line of an error. A library function in tail position.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local function f8(p9)
  return table.unpack({}, 1, 1 << 30)
end
xdp.attach(function(pkt)
  local v22 = f8(0)
end)
