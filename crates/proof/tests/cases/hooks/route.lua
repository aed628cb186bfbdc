-- Where the kernel would send packets on: in test runs every IP packet has a way.
-- frames: udp tcp arp udp6 arp/15 udp/30
local xdp, tc = require "xdp", require "tc"

local function same(out, ...)
  return out == ... and select("#", ...)
end

local function forward(pkt, arg)
  local out, to, from, problem = pkt:route()
  print(out, to, from, problem, select("#", pkt:route()))
  print(same(out, route(pkt)), route(pkt))
  if not out then
    route(arg)
    return
  end
  pkt.eth.dst, pkt.eth.src = to, from
  pkt.ip.ttl = pkt.ip.ttl - 1
  print(pkt.eth.dst, pkt.eth.src == from)
  return redirect(out)
end

xdp.attach(forward)
tc.ingress(forward)
tc.egress(function(pkt, arg)
  if pkt.tcp then print((route(pkt))) end
  if pkt.udp then route(pkt.eth) end
  print((pkt:route()))
end)
