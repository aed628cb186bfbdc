-- The same without `pcall`, in expanded code.
-- frames: udp tcp arp udp6 dns vlan-tcp http:curl
local xdp = require "xdp"
xdp.attach(function(pkt)
  local udp, ip, dns, http = pkt.udp, pkt.ip, pkt.dns, pkt.http
  pkt:setbyte(12, 0)
  if pkt.ip then return end
  if http then print(http.path) end
  if dns then print(dns.qname) end
  if udp then print(udp.dport) end
  if ip then print(ip.src) end
  return 1
end)
