-- The same in IPv6, with addresses and hops that come out of the packet; and packets with tags among their bytes.
-- frames: all truncated:udp/60 vlan-tcp*2 qinq-tls6*2
-- frames: hex:02000000000102000000000286dd60000000001a29ff20010db800000000000000000000000120010db8000000000000000000000002450000140000000040000000c00002010a0000020000
-- frames: hex:0200000000010200000000020800470000340000000040040000c0000201c633640701010101010101016000000000000040fe80000000000000000000000000000102fe80000000000000000000000000000002
-- frames: hex:0200000000010200000000020800450000140000000040040000c0000201c6336407 hex:02000000000102000000000208004500002800002000ff040000c0000201c63364074500001400000000400000000a0000010a000002
-- frames: hex:02000000000102000000000208004500002800000000ff290000c0000201c63364074500001400000000400000000a0000010a000002
local xdp = require "xdp"

xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then return end
  if ip.proto == 4 or ip.proto == 41 then
    pkt:decap()
    print(#pkt, pkt.eth.type, ip.version, ip.src, ip.dst, ip.length)
    return
  end
  local six = ip.version == 6
  local src, dst = "2001:db8::1", "fe80::1:2:3:4"
  if six then dst = ip.src end
  pkt:encap(src, dst, pkt:getuint8(22))
  print(#pkt, ip.version, ip.src, ip.dst, ip.length, ip.ttl, ip.tos, ip.proto, ip.flow, pkt:checksum(), pkt.vlan and pkt.vlan.type, pkt.eth.type)
  pkt:decap()
  print(#pkt, ip.version, ip.dst, pkt:checksum(), pkt.tcp and pkt.tcp.dport, pkt.udp and pkt.udp.dport)
  pkt:encap(src, dst)
  print(#pkt)
end)
