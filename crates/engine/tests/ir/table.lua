-- 05112233445566778899aabbccdd = 1
-- 06112233445566778899aabbccdd = 2
local xdp = require "xdp"
local action = require "linux.xdp"
local blocked = {}
for number = 1, 9, 2 do
  blocked[number] = true
end
xdp.attach(function(pkt)
  if blocked[pkt:getbyte(0)] then
    return action.DROP
  end
end)
