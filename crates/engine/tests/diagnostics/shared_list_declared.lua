local xdp = require "xdp"
local ranges = map { key = "string:8", value = { "int", "int" } }
xdp.attach(function(pkt)
  ranges[pkt:getstring(0, 3)] = { 1, 2, 3 }
end)
