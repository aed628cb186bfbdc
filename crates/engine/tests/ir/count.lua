-- 07112233445566778899aabbccdd = 2
-- 07112233445566778899aabbccdd = 2
-- 07112233445566778899aabbccdd = 1
local xdp = require "xdp"
local action = require "linux.xdp"
local seen = {}
xdp.attach(function(pkt)
  local key = pkt:getbyte(0)
  seen[key] = (seen[key] or 0) + 1
  if seen[key] > 2 then
    return action.DROP
  end
end)
