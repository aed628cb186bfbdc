-- A length that is a difference, as part of an offset: passes widen what the difference is of.
-- frames: tcp udp tcp6 icmp arp vlan-tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local p21 = pkt.tcp and 14 + pkt.ip.header_length + pkt.tcp.header_length or 34
  if p21 + 24 > #pkt then
    return 0
  end
  local p22 = (pkt.vlan and 18 or 14) + (pkt.ip and pkt.ip.header_length or 0)
  print("x" .. pkt:getint64(p22 + 9))
end)
