local xdp = require "xdp"
local ranges = {}
xdp.attach(function(pkt)
  ranges[#pkt] = { 1, "x" }
  ranges[1] = { { n = 2 }, "x" }
end)
