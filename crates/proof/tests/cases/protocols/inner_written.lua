-- Headers inside that are kept while the packet changes, and what cannot be done with them.
-- frames: gre-tcp*3 vxlan-dns*5 ip-in-ip6 udp
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt)
  turn = turn + 1
  local inner = pkt.inner
  local ip = inner and inner.ip
  print(ip and ip.dst, ip == pkt.ip, ip and ip == pkt.inner.ip)
  if turn == 1 then pkt:setuint8(14 + 20 + 8, 0x65) print(ip.dst, inner.ip, inner.tcp, pkt.inner) end
  if turn == 2 then pkt.ip.dst = "10.9.8.7" print(ip.dst, pkt.ip.dst) pkt:decap() print(pkt.ip.dst, ip.dst, inner.ip) end
  if turn == 3 then ip.ttl = 7 end
  if turn == 4 then pkt.udp.dport = 5 print(ip.dst, inner.ip, pkt.inner, inner.dns) end
  if turn == 5 then print(inner.eth.type, pkt.inner.dns.qname, inner.udp.sport) pkt:decap() print(pkt.dns.qname) end
  if turn == 6 then print(inner.inner) end
  if turn == 7 then print(inner.ip.port) end
  if turn == 8 then inner.payload = "x" end
  if turn == 9 then print(inner.icmp.type, inner.ip.version, pkt.ip.version) end
  if turn == 10 then print(inner.ip) end
end)
