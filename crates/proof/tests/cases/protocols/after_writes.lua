-- Headers show the frame as it is: writes move them, or make them go.
-- frames: tcp udp tls tls6 vlan-tcp icmp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local ip, tcp, udp = pkt.ip, pkt.tcp, pkt.udp
  print(ip and ip.ttl, tcp and tcp.dport, udp and udp.dport)
  pkt:setuint8(22, 9)
  print(ip and ip.ttl)
  pkt:setuint8(14, 0x46)
  print(ip and ip.header_length, tcp and tcp.dport, udp and udp.dport, pkt.tcp and pkt.tcp.sport)
  pkt:setuint16(12, 0x0608)
  print(ip and ip.version, tcp and tcp.dport, udp and udp.length, pkt.ip == nil)
end)
