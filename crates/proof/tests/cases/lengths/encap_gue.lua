-- IP packets in GUE; the source port says which flow they are of.
-- frames: all truncated:udp truncated:tcp6
local xdp = require "xdp"

local ways = {
  { src = "192.0.2.1", dst = "198.51.100.7", gue = {} },
  { src = "2001:db8::1", dst = "2001:db8::2", ttl = 7, gue = { sport = 77 } },
}
local turn = 0
xdp.attach(function(pkt)
  local ip, all = pkt.ip, tostring(pkt)
  if not ip or pkt.vlan or ip.length == 40 and ip.version == 6 then return end
  turn = turn + 1
  if turn % 3 == 0 then
    pkt:encap(ways[1])
  elseif turn % 3 == 1 then
    pkt:encap(ways[2])
  else
    pkt:encap{src = ip.dst, dst = ip.src, ttl = turn & 0xff, gue = {port = 6081}}
  end
  local udp = pkt.udp
  print(#pkt, ip.version, ip.src, ip.dst, ip.length, ip.ttl, ip.tos, ip.proto, ip.checksum, pkt:checksum())
  print(udp.sport, udp.dport, udp.length, udp.checksum, pkt.eth.type)
  udp.dport = 6080
  pkt:decap()
  print(tostring(pkt) == all, ip.version, ip.dst, pkt.eth.type, pkt.payload)
end)
