-- Random program 107236, made small: verdict.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local u2 = 0
local function f3(p4, p5, p6)
  u2 = u2 + 1
  return 0, p6
end
xdp.attach(function(pkt)
  u2 = u2 + f3(0, 1, 1)
  local v10, v11, v12 = f3(1, 0, u2)
  return v11 & 3
end)
