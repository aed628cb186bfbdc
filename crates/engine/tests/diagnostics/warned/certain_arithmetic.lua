local xdp = require "xdp"

local limit
xdp.attach(function(pkt)
  if #pkt > limit + 14 then return 1 end
end)
