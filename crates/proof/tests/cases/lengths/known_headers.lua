-- Where it is known which headers a packet has, and that it has none.
-- frames: arp udp tcp icmp6 udp6 tls6 gre vlan-tcp
local xdp = require "xdp"

xdp.attach(function(pkt)
  if pkt.udp then
    pkt.payload = pkt.payload .. "!"
    print(#pkt, pkt.payload, pkt.udp.checksum)
  elseif pkt.tcp then
    pkt.payload = "none"
    pkt:fix_checksums()
    print(#pkt, pkt.tcp.checksum)
  elseif pkt.icmp then
    pkt:encap("192.0.2.1", "192.0.2.2")
    pkt:decap()
    pkt:fix_checksums()
    print(#pkt, pkt.icmp.checksum)
  elseif pkt.ip then
    pkt:fix_checksums()
    print(pkt.ip.checksum)
    pkt:decap()
  else
    pkt:fix_checksums()
    print(pkt:checksum())
    pkt:encap("192.0.2.1", "192.0.2.2")
  end
end)
