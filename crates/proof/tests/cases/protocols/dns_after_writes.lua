-- What is shown of a message after it was written: a name, once read, stays what it was.
-- frames: dns dns6 dns:a
local xdp = require "xdp"
xdp.attach(function(pkt, arg)
  local dns = pkt.dns
  if not dns then return 1 end
  local at = arg:getuint8(0) * 256 + arg:getuint8(1)
  local before = dns.qname
  pkt:setuint8(at + 13, 0x58)
  pkt:setuint8(at + 2, 0xff)
  print(before, dns.qname, dns.qr, dns.rcode, dns.qtype)
  pkt:setuint8(at + 12, 0xc0)
  print(before, dns.qname, dns.qtype, dns.id)
  pkt.udp.dport, pkt.udp.sport = 1025, 1026
  print(pkt.dns, dns.id, dns.qname, dns.qtype, before)
end)
