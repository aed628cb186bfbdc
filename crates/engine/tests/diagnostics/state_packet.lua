local xdp = require "xdp"

local previous
xdp.attach(function(pkt)
  if previous and #previous == #pkt then return 1 end
  previous = pkt
end)
