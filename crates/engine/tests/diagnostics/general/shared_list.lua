local xdp = require "xdp"
local ranges = map { key = "int", value = { "int", "int" } }
xdp.attach(function(pkt)
  ranges[#pkt] = { 1, 2 }
end)
