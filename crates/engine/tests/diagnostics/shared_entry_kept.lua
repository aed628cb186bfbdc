local xdp = require "xdp"
local flows, archive = {}, {}
xdp.attach(function(pkt)
  local flow = flows[#pkt]
  if flow then archive[1] = flow end
  flows[#pkt] = { pkts = 1, from = { port = 1 } }
end)
