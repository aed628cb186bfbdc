-- 00112233445566778899aabbccdd = 2
-- ff112233445566778899aabbccdd = 1
local xdp = require "xdp"
local action = require "linux.xdp"
xdp.attach(function(pkt)
  if pkt:getbyte(0) == 0xff then
    return action.DROP
  end
end)
