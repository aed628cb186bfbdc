-- A value that may be nil among those that math.max compares: an error only where it is.
-- frames: udp tcp tls icmp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local port = pkt.tcp and pkt.tcp.dport or pkt.udp and pkt.udp.dport
  print(math.min(#pkt, pkt.ip.ttl, port))
  print(math.max(port, nil))
end)
