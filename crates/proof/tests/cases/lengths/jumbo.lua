-- The length of packets whose header has 0 in its place: the Jumbo Payload option says it (RFC 2675), where it is the first one of the first
-- extension header and more than the field could say.
-- frames: jumbo6 truncated:jumbo6 tcp6 tls6 udp6-extensions icmp6 icmp6-extensions tcp tcp-options udp vxlan-dns ip-in-ip6
local xdp, tc, netfilter = require "xdp", require "tc", require "netfilter"

local function show(pkt)
  local ip, tcp, inner = pkt.ip, pkt.tcp, pkt.inner
  print(ip.length, ip.header_length, ip.proto, tcp and tcp.dport, pkt.payload and #pkt.payload)
  print(pkt.tls and pkt.tls.sni, inner and inner.ip and inner.ip.length)
end

local function handler(pkt)
  local ip = pkt.ip
  if not ip then return end
  show(pkt)
  if ip.version == 4 then
    pkt:setuint16(16, 0)
    show(pkt)
    return
  end
  pkt:setuint16(18, 0)
  show(pkt)
  if #pkt < 62 then return end
  -- The option: with a length that the field could say, one that it could not, the greatest one; and no such option.
  pkt:setuint16(56, 0x04c2)
  for _, length in ipairs { 0xffff0000, 0x00000100, 0xffffffff } do
    pkt:setuint32(58, length)
    show(pkt)
  end
  pkt:setbyte(57, 5)
  show(pkt)
  pkt:setbyte(57, 4)
  pkt:setbyte(20, 60)
  show(pkt)
end

xdp.attach(handler)
tc.ingress(handler)
netfilter.register { pf = 10, hooknum = 1, hook = function(pkt) show(pkt) end }
