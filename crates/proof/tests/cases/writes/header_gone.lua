-- Headers that are held over a write after which there is none: what is read of them cannot be there any more.
-- frames: udp tcp arp udp6 dns vlan-tcp dhcp quic http:curl icmp gre mpls
local xdp = require "xdp"
xdp.attach(function(pkt)
  local udp, tcp, ip, dns, http = pkt.udp, pkt.tcp, pkt.ip, pkt.dns, pkt.http
  local icmp, gre, mpls, quic, dhcp, arp = pkt.icmp, pkt.gre, pkt.mpls, pkt.quic, pkt.dhcp, pkt.arp
  pkt:setbyte(12, 0)
  print(pkt.ip, pkt.eth.type)
  if pkt.ip then return end
  if udp then print(pcall(function() return udp.dport end)) end
  if tcp then print(pcall(function() return tcp.flags end)) end
  if ip then print(pcall(function() return ip.src end)) end
  if dns then print(pcall(function() return dns.qname end)) end
  if http then print(pcall(function() return http.method end)) end
  if icmp then print(pcall(function() return icmp.type end)) end
  if gre then print(pcall(function() return gre.key end)) end
  if mpls then print(pcall(function() return mpls.label end)) end
  if quic then print(pcall(function() return quic.version end)) end
  if dhcp then print(pcall(function() return dhcp.message_type end)) end
  if arp then print(pcall(function() return arp.sender end)) end
  return 1
end)
