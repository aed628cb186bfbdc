-- What a packet inside has and has not.
-- frames: all
local xdp = require "xdp"
xdp.attach(function(pkt)
  local inner = pkt.inner
  if inner then
    print(inner.ip and inner.ip.src, inner.udp and inner.udp.dport, inner.tcp and inner.tcp.sport, inner.http and inner.http.host)
    print(inner.dns and inner.dns.qname, inner.http and inner.http.user_agent, pkt.http and pkt.http.host, inner.icmp and inner.icmp.type)
  end
end)
