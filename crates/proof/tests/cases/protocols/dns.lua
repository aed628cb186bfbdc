-- Every field of `pkt.dns` on frames of every kind, and on every prefix of an answer and of a question over IPv6.
-- frames: all dns:example.org dns:EXAMPLE.Org dns:x truncated:dns truncated:dns6 udp-1025-5353:\x00\x00\x84\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00
-- frames: udp-5353-1025:123456789012 udp-1025-1026:\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01
-- frames: udp-53-1026:\x00\x01\xff\xff\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xff tcp-1025-53:\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01
local xdp = require "xdp"
xdp.attach(function(pkt)
  local dns = pkt.dns
  if not dns then
    print "none"
    return 1
  end
  print(dns.id, dns.flags, dns.qr, dns.opcode, dns.aa, dns.tc, dns.rd, dns.ra, dns.ad, dns.cd, dns.rcode)
  print(dns.qdcount, dns.ancount, dns.nscount, dns.arcount)
  print(dns.qname, dns.qtype, dns.qclass)
end)
