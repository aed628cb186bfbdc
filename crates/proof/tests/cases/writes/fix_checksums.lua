-- Checksums computed anew: after writes by offset, of every kind of packet, and of packets of which a part is missing.
-- frames: all truncated:udp truncated:tcp6 truncated:icmp6-extensions truncated:vlan-tcp udp:ab udp:abc tcp:a
-- frames: hex:0200000000010200000000028100000a08004500001c000000004001000000000000000000000000000000000000
-- frames: hex:02000000000102000000000208004500001c00010000400100000a0000010a0000020000000000000000
-- frames: hex:02000000000102000000000208004500001e00010000401100000a0000010a000002123400350009000061ff
-- frames: hex:02000000000102000000000208004500001e00010000401100000a0000010a00000212340035000b0000616263
-- frames: hex:02000000000102000000000286dd60000000001a2b4020010db800000000000000000000000120010db80000000000000000000000021102000100000000200000000000000000000000000000000000000100000000ab
local xdp = require "xdp"

local function sums(pkt)
  local ip, tcp, udp, icmp = pkt.ip, pkt.tcp, pkt.udp, pkt.icmp
  print(ip and ip.checksum, tcp and tcp.checksum, udp and udp.checksum, icmp and icmp.checksum)
end

xdp.attach(function(pkt)
  pkt:fix_checksums()
  sums(pkt)
  local all, ip = pkt:getstring(0), pkt.ip
  if not ip then return end
  pkt:setuint8(#pkt - 1, 0x5a)
  if ip.version == 4 then pkt:setuint16(28, 0x1234) else pkt:setuint16(36, 0xffff) end
  print(pkt:fix_checksums())
  sums(pkt)
  print(#all, all == pkt:getstring(0))
  ip.ttl = 9
  local tcp, udp = pkt.tcp, pkt.udp
  if tcp then tcp.checksum = 0 end
  if udp then udp.checksum, udp.dport = 0, 77 end
  pkt:fix_checksums()
  sums(pkt)
  print(ip.ttl, udp and udp.dport)
end)
