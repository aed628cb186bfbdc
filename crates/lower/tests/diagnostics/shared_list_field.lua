local xdp = require "xdp"
local flows = map { key = "int", value = { n = "int" } }
xdp.attach(function(pkt)
  flows[#pkt] = { n = 1, ports = { 80, 443 } }
end)
