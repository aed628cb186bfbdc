-- Lists as keys, where they are declared.
-- general: tables as keys, in general code
-- frames: tcp udp icmp tcp6 udp6 tcp
local xdp = require "xdp"
local pairs_seen = map { key = { "ip", "int" }, value = { "int", "boolean" }, capacity = 64 }
xdp.attach(function(pkt)
  local ip = pkt.ip
  local seen = pairs_seen[{ ip.src, ip.proto }]
  print(seen and seen[1], seen and seen[2], pairs_seen[{ ip.src, 0 }])
  pairs_seen[{ ip.src, ip.proto }] = { (seen and seen[1] or 0) + 1, not seen }
  print(pairs_seen[{ ip.src, ip.proto }][1])
end)
