local xdp = require "xdp"
local kinds = {}
xdp.attach(function(pkt)
  kinds[#pkt] = { [true] = 1 }
end)
