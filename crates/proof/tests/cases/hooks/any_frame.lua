-- Frames at sockets are any frames, also such that begin like an IP packet and end at once.
-- frames: hex:6f00000000000000000000000000 hex:4500000000000000000000000000 udp/20 arp
require("socket").filter(function(pkt)
  print(#pkt, pkt.eth and pkt.eth.dst, pkt.ip and pkt.ip.src)
  return #pkt > 14
end)
