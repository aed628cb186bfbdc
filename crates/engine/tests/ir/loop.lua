-- 01020304000000000000aabbccdd = 1
-- 01020305000000000000aabbccdd = 2
local xdp = require "xdp"
local action = require "linux.xdp"
xdp.attach(function(pkt)
  local sum = 0
  for i = 0, 3 do
    sum = sum + pkt:getbyte(i)
  end
  return sum == 10 and action.DROP or action.PASS
end)
