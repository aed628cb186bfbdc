-- Adds, compares, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local sum, by = 0, pkt:getuint8(37)
  for i = 1, 1001 do
    if i > 3 then sum = sum + by else sum = sum + 2 end
  end
  sum = by
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
