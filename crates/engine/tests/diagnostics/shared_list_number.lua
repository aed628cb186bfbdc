local xdp = require "xdp"
local ranges = {}
xdp.attach(function(pkt)
  ranges[#pkt] = { ["1"] = #pkt }
end)
