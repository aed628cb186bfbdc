-- Random program 104121, made small: output. The variable is assigned between the read and the write of an addition.
-- frames: hex:0000000000000000000000000000
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local u1 = 1
local function f2(p3, p4, p5)
  u1 = 0
  return 0
end
xdp.attach(function(pkt)
  if (0 < u1) then
    u1 = u1 + f2(0, 0, 0)
  else
    print()
  end
  print(u1)
end)
