-- Reads a place of an array, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local list, sum = {}, 0
  for i = 1, 101 do
    list[i] = i
  end
  list[51] = 50 + pkt:getuint8(37)
  for _ = 1, 10 do
    for i = 1, 101 do
      sum = sum + list[i]
    end
  end
  sum = list[51]
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
