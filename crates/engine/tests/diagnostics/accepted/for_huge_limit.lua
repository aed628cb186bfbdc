local xdp = require "xdp"
xdp.attach(function(pkt, arg)
  for i = 1, math.huge do if pkt:getbyte(i) == 3 then return 1 end end
end)
