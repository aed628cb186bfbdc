-- Packets that become longer and shorter at their end, by what is known and by what comes out of the packet: what is read afterwards.
-- frames: all truncated:udp truncated:tcp6
local xdp = require "xdp"

xdp.attach(function(pkt, arg)
  local ip, payload = pkt.ip, pkt.payload
  pkt:grow(5)
  print(#pkt, arg:getuint16(0), payload, ip and ip.proto, pkt:getuint8(#pkt - 1), pkt:getuint32(#pkt - 5))
  pkt:setuint8(#pkt - 1, 7)
  pkt:shrink(4, "tail")
  print(#pkt, ip and ip.src, #(pkt.payload or ""))
  if ip or #pkt < 34 then
    pkt:grow(pkt:getuint8(0) & 31)
    print(#pkt, pkt:checksum(), ip and ip.ttl)
    pkt:shrink(#pkt & 1)
  end
  local tcp = pkt.tcp
  pkt:grow(0) pkt:shrink(0)
  print(#pkt, pkt:checksum(), tcp and tcp.dport, pkt.udp and pkt.udp.length)
end)
