-- Fields of every protocol that can be assigned, with what they have been, and the checksums over them.
-- frames: udp tcp icmp udp6 tcp6 icmp6 arp arp/15 tcp/60 vlan-tcp qinq-tls6 udp6-extensions
local xdp = require "xdp"

local function sums(pkt)
  local ip, tcp, udp, icmp = pkt.ip, pkt.tcp, pkt.udp, pkt.icmp
  print(ip and ip.checksum, tcp and tcp.checksum, udp and udp.checksum, icmp and icmp.checksum)
end

xdp.attach(function(pkt)
  sums(pkt)
  if pkt.eth then
    local source = pkt.eth.src
    pkt.eth.src = pkt.eth.dst
    pkt.eth.dst = source
    pkt.eth.src = "02:00:00:00:00:2a"
    print(pkt.eth.src, pkt.eth.dst)
  end
  local vlan = pkt.vlan
  if vlan then
    vlan.id = 4095
    vlan.priority = vlan.priority ~ 5
    vlan.dei = not vlan.dei
    print(vlan.id, vlan.priority, vlan.dei, vlan.type)
  end
  local ip = pkt.ip
  if not ip then return 1 end
  ip.ttl = ip.ttl - 1
  ip.tos = 0xb8
  print(ip.ttl, ip.tos, ip.dscp, ip.ecn)
  sums(pkt)
  ip.dscp = 10
  print(ip.tos, ip.dscp, ip.ecn)
  ip.ecn = 3
  print(ip.tos, ip.dscp, ip.ecn)
  sums(pkt)
  ip.dscp, ip.ecn = ip.dscp ~ 0x3f, ip.ecn - 2
  print(ip.tos, ip.dscp, ip.ecn, ip.version == 6 and ip.flow)
  sums(pkt)
  if ip.version == 4 then
    ip.id = 0xffff
    ip.dont_fragment = not ip.dont_fragment
    ip.dst = "198.51.100.77"
    ip.src, ip.dst = ip.dst, ip.src
    print(ip.id, ip.dont_fragment, ip.src, ip.dst)
  else
    ip.flow = 0xabcde
    ip.dst = "2001:db8:ffff::1"
    ip.src, ip.dst = ip.dst, ip.src
    print(ip.flow, ip.src, ip.dst)
  end
  sums(pkt)
  local tcp, udp, icmp = pkt.tcp, pkt.udp, pkt.icmp
  if tcp then
    tcp.sport, tcp.dport = tcp.dport, 8080
    tcp.seq = tcp.seq + 1 & 0xffffffff
    tcp.ack = 0
    tcp.window = 65535
    tcp.urgent = 1
    tcp.flags = tcp.flags | 0x10
    tcp.syn, tcp.fin, tcp.rst, tcp.psh, tcp.urg, tcp.ece, tcp.cwr = true, not tcp.fin, false, true, true, true, false
    print(tcp.sport, tcp.dport, tcp.seq, tcp.ack, tcp.window, tcp.urgent, tcp.flags)
  elseif udp then
    udp.dport = udp.sport
    udp.sport = 53
    print(udp.sport, udp.dport)
  elseif icmp then
    icmp.type, icmp.code, icmp.id, icmp.seq = 0, 3, 0x1234, icmp.seq + 1 & 0xffff
    print(icmp.type, icmp.code, icmp.id, icmp.seq)
  end
  sums(pkt)
  if udp then
    udp.checksum = 0
    udp.dport = 1
    print(udp.checksum)
  end
  return 3
end)
