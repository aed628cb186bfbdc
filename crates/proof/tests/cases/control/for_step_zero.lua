-- A step of zero is an error.
-- frames: hex:0000000000000000000000000000 hex:0100000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local step = pkt:getuint8(0)
  local sum = 0
  for i = 1, 10, step do
    sum = sum + i
  end
  print(sum)
  for i = 1, 3, 0 do
    sum = sum + i
  end
  print(sum)
end)
