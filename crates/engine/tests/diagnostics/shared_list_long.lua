local xdp = require "xdp"
local sizes = {}
xdp.attach(function(pkt)
  sizes[#pkt] = { 1, 2, [65] = 3 }
end)
