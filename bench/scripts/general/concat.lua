-- Joins strings, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local sum, by = 0, pkt:getuint8(37)
  for i = 1, 101 do
    sum = sum + #(i .. ":" .. by) * 2
  end
  sum = by
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
