-- Frames in VXLAN that lie in several buffers.
-- frames: long:udp long:tcp6 udp long:qinq-tls6 long:icmp
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt)
  local eth, all = pkt.eth, tostring(pkt)
  if not eth then return end
  turn = turn + 1
  if turn % 2 == 0 then
    pkt:encap{src = "192.0.2.1", dst = "198.51.100.7", vxlan = {vni = 0x123456}}
  else
    local port = turn & 4 == 0 and 8472 or nil
    pkt:encap{src = "2001:db8::1", dst = "2001:db8::2", ttl = 7, vxlan = {vni = turn, port = port, sport = turn % 4 == 1 and turn or nil}}
  end
  local ip, udp = pkt.ip, pkt.udp
  print(#pkt, ip.version, ip.src, ip.dst, ip.length, ip.ttl, ip.tos, ip.proto, ip.checksum, pkt:checksum())
  print(udp.sport, udp.dport, udp.length, udp.checksum, pkt.vxlan and pkt.vxlan.vni, eth.src, eth.dst, eth.type)
  if udp.dport == 8472 then udp.dport = 4789 end
  pkt:decap()
  print(tostring(pkt) == all, eth.type, eth.src, pkt.ip and pkt.ip.dst, pkt.payload)
end)
