-- What is inside of packets, and of every beginning of such packets.
-- frames: truncated:ip-in-ip truncated:ip6-in-ip truncated:ip-in-ip6 truncated:gre-tcp truncated:gre-bridged truncated:vxlan-dns truncated:gue-udp6 gre-key gre vxlan
local xdp = require "xdp"

xdp.attach(function(pkt)
  print(pcall(pkt.decap, pkt))
  print(#pkt, pkt.eth and pkt.eth.type, pkt.ip and pkt.ip.dst, pkt.vlan and pkt.vlan.id, pkt:checksum())
  print(pkt.tcp and pkt.tcp.dport, pkt.udp and pkt.udp.dport, pkt.payload)
end)
