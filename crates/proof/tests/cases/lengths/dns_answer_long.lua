-- Questions that become answers in frames that lie in several buffers.
-- frames: long:dns long:dns6 dns long:vxlan-dns dns long:dns long:dns long:dns long:dns long:tcp dns
local xdp = require "xdp"
local dns = require "dns"

local answers = { { address = "192.0.2.1", ttl = 7 }, { rcode = 3 }, {} }
local turn = 0
xdp.attach(function(pkt)
  local question = pkt.dns
  if not question or question.qr or not question.qclass or pkt.ip.more_fragments then return end
  turn = turn + 1
  local way = turn % 5
  if pkt.dns.qtype == 28 then way = 3 end
  local all = #pkt
  if way == 0 then dns.answer(pkt, answers[1]) end
  if way == 1 then dns.answer(pkt, answers[2]) end
  if way == 2 then dns.answer(pkt, answers[3]) end
  if way == 3 then dns.answer(pkt, {address = "2001:db8::1", ttl = turn << 20, rcode = turn & 1}) end
  if way == 4 then dns.answer(pkt, {address = pkt.ip.src}) end
  local it, ip, udp = pkt.dns, pkt.ip, pkt.udp
  print(all, #pkt, it.id, it.flags, it.qdcount, it.ancount, it.nscount, it.arcount, it.qname, it.qtype)
  print(ip.src, ip.dst, ip.length, ip.ttl, ip.checksum, udp.sport, udp.dport, udp.length, udp.checksum, pkt.eth.src, pkt.eth.dst)
  print(pkt.payload)
end)
