-- A loop without an end runs out of steps.
-- frames: tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = 0
  while n >= 0 do
    n = n ~ 1
  end
end)
