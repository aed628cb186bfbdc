-- Reads a byte of a string, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local text, sum = pkt:getstring(0), 0
  for _ = 1, 101 do
    sum = sum + text:byte(38)
  end
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
