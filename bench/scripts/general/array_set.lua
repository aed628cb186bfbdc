-- Writes a place of an array, ten times a hundred, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local list = {}
  local by = pkt:getuint8(37)
  for round = 1, 10 do
    for i = 1, 101 do
      list[i] = by
    end
  end
  local sum = list[100]
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
