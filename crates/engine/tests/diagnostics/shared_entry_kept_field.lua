local xdp = require "xdp"
local flows, ends = {}, map { key = "int", value = { at = { port = "int" } } }
xdp.attach(function(pkt)
  flows[#pkt] = { pkts = 1, from = { port = 1 } }
  ends[1] = { at = flows[#pkt].from }
end)
