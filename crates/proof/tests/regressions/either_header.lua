-- Indexing what `or` chose: the index is jumped to from the first operand.
-- frames: tcp udp icmp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local port = (pkt.tcp or pkt.udp).dport
  print(port)
end)
