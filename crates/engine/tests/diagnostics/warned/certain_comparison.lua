local xdp = require "xdp"

local limits = { length = "1500" }
xdp.attach(function(pkt)
  if #pkt > limits.length then return 1 end
end)
