-- What is known by ports is looked for anew when they have changed.
-- frames: dns vxlan vxlan-dns gue-udp6 dhcp quic udp dns6 tcp
local xdp = require "xdp"

xdp.attach(function(pkt)
  local udp, dns = pkt.udp, pkt.dns
  if not udp then return end
  print(dns and dns.id, pkt.vxlan and pkt.vxlan.vni, pkt.dhcp and pkt.dhcp.xid, pkt.quic and pkt.quic.version)
  udp.dport = 4789
  print(dns and dns.id, pkt.dns and 1, pkt.vxlan and pkt.vxlan.vni)
  udp.sport = 68
  udp.dport = 443
  print(pkt.dns and 1, pkt.vxlan and 1, pkt.quic and pkt.quic.version, pkt.dhcp and pkt.dhcp.xid)
  udp.dport = 53
  print(dns and dns.id, pkt.dns and pkt.dns.qname, pkt.vxlan and 1, pkt.quic and pkt.quic.version)
end)
