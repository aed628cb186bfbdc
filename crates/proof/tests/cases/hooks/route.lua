-- Where the kernel would send packets on: in test runs every IP packet has a way.
-- frames: udp tcp arp udp6 arp/15 udp/30
local xdp, tc = require "xdp", require "tc"

local function forward(pkt)
  local out, to, from, problem = pkt:route()
  print(out, to, from, problem, select("#", pkt:route()))
  if not out then return end
  pkt.eth.dst, pkt.eth.src = to, from
  pkt.ip.ttl = pkt.ip.ttl - 1
  print(pkt.eth.dst, pkt.eth.src == from)
  return redirect(out)
end

xdp.attach(forward)
tc.ingress(forward)
tc.egress(function(pkt, arg)
  print((pkt:route()))
end)
