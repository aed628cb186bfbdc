-- Cuts a string, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local text, sum = pkt:getstring(0), 0
  for _ = 1, 101 do
    if text:sub(38, 38) ~= "\0" then sum = sum + 1 end
  end
  sum = sum > 0 and pkt:getuint8(37) or 0
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
