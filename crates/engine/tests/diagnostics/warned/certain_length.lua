local xdp = require "xdp"

local names
xdp.attach(function(pkt)
  if #pkt > #names then return 1 end
end)
