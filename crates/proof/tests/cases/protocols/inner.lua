-- What is inside of packets, by every field, and of every beginning of such packets.
-- frames: all truncated:ip-in-ip truncated:ip6-in-ip truncated:ip-in-ip6 truncated:gre-tcp truncated:gre-bridged truncated:vxlan-dns truncated:gue-udp6
local xdp = require "xdp"

xdp.attach(function(pkt)
  local inner = pkt.inner
  if not inner then return end
  local eth, vlan, ip = inner.eth, inner.vlan, inner.ip
  print(eth and eth.src, eth and eth.dst, eth and eth.type, vlan and vlan.id, vlan and vlan.type, vlan and vlan.inner_id)
  if ip then
    print(ip.version, ip.src, ip.dst, ip.tos, ip.dscp, ip.ecn, ip.ttl, ip.proto, ip.length, ip.header_length, ip.id, ip.checksum, ip.flow)
  end
  local tcp, udp, icmp = inner.tcp, inner.udp, inner.icmp
  print(tcp and tcp.dport, tcp and tcp.syn, udp and udp.sport, udp and udp.length, icmp and icmp.type, inner.payload)
  local dns, tls = inner.dns, inner.tls
  print(dns and dns.qname, dns and dns.qtype, tls and tls.sni, inner.arp and inner.arp.op, inner.mpls and inner.mpls.label, inner.vxlan and inner.vxlan.vni, inner.gre and inner.gre.proto)
  print(pkt.ip.src, pkt.ip.proto, pkt.tcp, pkt.udp and pkt.udp.dport)
end)
