-- Calls a method of strings, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local text, sum = pkt:getstring(37, 1), 0
  for _ = 1, 101 do
    sum = sum + text:len() * text:byte()
  end
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
