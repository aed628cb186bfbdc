local xdp = require "xdp"

local last
xdp.attach(function(pkt)
  last = pkt:getstring(0, 6)
end)
