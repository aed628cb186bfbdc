-- IP packets in GRE, with a key and without, and taken out again.
-- frames: all truncated:udp truncated:tcp6
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt)
  local ip, all = pkt.ip, tostring(pkt)
  if not ip or pkt.vlan or ip.length == 40 and ip.version == 6 then return end
  turn = turn + 1
  if turn % 3 == 0 then
    pkt:encap{src = "192.0.2.1", dst = "198.51.100.7", gre = {}}
  elseif turn % 3 == 1 then
    pkt:encap{src = "2001:db8::1", dst = "2001:db8::2", ttl = 7, gre = {key = 0xfedcba98}}
  else
    local key = turn & 4 == 0 and turn or nil
    pkt:encap{src = "192.0.2.1", dst = "198.51.100.7", ttl = turn, gre = {key = key}}
  end
  print(#pkt, ip.version, ip.src, ip.dst, ip.length, ip.ttl, ip.tos, ip.proto, ip.checksum, pkt:checksum())
  print(pkt.gre.type, pkt.gre.key, pkt.gre.seq, pkt.gre.checksum, pkt.eth.type, pkt.tcp == nil and pkt.udp == nil)
  pkt:decap()
  print(tostring(pkt) == all, ip.version, ip.dst, pkt.eth.type, pkt.payload)
end)
