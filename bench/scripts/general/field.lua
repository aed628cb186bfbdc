-- Reads a field, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local point = { x = pkt:getuint8(37), y = 2, z = 3 }
  local sum = 0
  for _ = 1, 101 do
    sum = sum + point.x
  end
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
