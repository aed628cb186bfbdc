-- 05112233445566778899aabbccdd = 1
-- ff112233445566778899aabbccdd = 2
local xdp = require "xdp"
local action = require "linux.xdp"
xdp.attach(function(pkt)
  local n = pkt:getbyte(0)
  local shown
  if n < 100 then
    shown = function()
      return n
    end
  end
  n = 1
  return shown and shown() or action.PASS
end)
