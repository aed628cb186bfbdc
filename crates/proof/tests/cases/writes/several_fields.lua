-- Several fields of a packet: each checksum is changed by all of them, whatever stands between, is read, or is written over.
-- frames: udp tcp icmp udp6 tcp6 icmp6 tcp/60 vlan-tcp udp6-extensions arp
local xdp = require "xdp"

local function show(pkt)
  local ip, udp, tcp, icmp = pkt.ip, pkt.udp, pkt.tcp, pkt.icmp
  print(ip and ip.checksum, udp and udp.checksum, tcp and tcp.checksum, icmp and icmp.checksum)
end

local turns = 0

xdp.attach(function(pkt)
  local ip, udp, tcp = pkt.ip, pkt.udp, pkt.tcp
  if not ip then return end
  turns = turns + 1
  ip.ttl = 63
  if ip.version == 4 then ip.src, ip.dst = "192.0.2.77", "198.51.100.3" else ip.src = "2001:db8::77" end
  if udp then
    udp.sport, udp.dport = 7, 9
    if turns % 2 == 0 then udp.sport = 0xffff end
    udp.dport = 1
  elseif tcp then
    tcp.sport, tcp.dport = 1, 2
    tcp.window = tcp.window ~ 0x5555
    tcp.seq = 0xffffffff
    tcp.syn = not tcp.syn
  end
  show(pkt)
  -- A checksum that is assigned, and one of no UDP.
  if ip.version == 4 then
    ip.checksum = 0x1234
    ip.ttl = 1
    ip.tos = 4
  end
  if udp then
    udp.checksum = 0
    udp.sport = 77
    ip.ttl = 9
    if ip.version == 4 then ip.dst = "192.0.2.1" end
    udp.checksum = 0xfffe
    udp.dport = 78
    udp.sport = 79
  end
  show(pkt)
  -- Bytes that are written by offset.
  ip.ttl = 3
  pkt:setuint16(24, 0xabcd)
  ip.ttl = 4
  ip.tos = 8
  for n = 1, 3 do
    ip.ttl = ip.ttl + n
    if n == 2 and tcp then tcp.dport = 5 end
  end
  if turns % 3 == 0 then ip.ttl = 200 end
  ip.tos = 12
  show(pkt)
end)
