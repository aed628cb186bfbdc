local xdp = require "xdp"
local ranges = map { key = "string:8", value = { low = "int", high = "int" } }
ranges.web = { 80, 443 }
xdp.attach(function(pkt)
  ranges[pkt:getstring(0, 3)] = { low = 1, high = 2 }
end)
