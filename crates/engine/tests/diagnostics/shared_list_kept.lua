local xdp = require "xdp"
local ranges, last = {}, {}
xdp.attach(function(pkt)
  ranges[#pkt] = { 1, { 2, n = 3 } }
  last[1] = ranges[#pkt]
end)
