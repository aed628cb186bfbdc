local xdp = require "xdp"

local config = {}
xdp.attach(function(pkt)
  if #pkt > config.limits.length then return 1 end
end)
