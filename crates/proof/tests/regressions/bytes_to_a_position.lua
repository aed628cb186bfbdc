-- Bytes from a constant position to one of the packet: no more of them than the string has.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  print(("GET /index.hH"):byte((-1), (pkt.udp and pkt.udp.length or 0)))
end)
