-- What a table must not say of the packet around this one.
-- frames: udp*28 arp*2 udp6 hex:02000000000102000000000286dd600000000000110120010db800000000000000000000000120010db8000000000000000000000002
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt, arg)
  turn = turn + 1
  local a, b = "192.0.2.1", "198.51.100.7"
  if turn == 1 then pkt:encap{} end
  if turn == 2 then pkt:encap{src = a} end
  if turn == 3 then pkt:encap{src = a, dst = 7} end
  if turn == 4 then pkt:encap{src = a, dst = "::1"} end
  if turn == 5 then pkt:encap{src = "::1", dst = b, gre = 7} end
  if turn == 6 then pkt:encap{src = a, dst = b, ttl = 256} end
  if turn == 7 then pkt:encap{src = a, dst = b, ttl = "7"} end
  if turn == 8 then pkt:encap{src = a, dst = b, ttl = -1, gre = {}, gue = {}} end
  if turn == 9 then pkt:encap{src = a, dst = b, gre = {}, gue = {}} end
  if turn == 10 then pkt:encap{src = a, dst = b, vxlan = {}, gue = 7} end
  if turn == 11 then pkt:encap{src = a, dst = b, gre = true} end
  if turn == 12 then pkt:encap{src = a, dst = b, vxlan = "x"} end
  if turn == 13 then pkt:encap{src = a, dst = b, gue = false} end
  if turn == 14 then pkt:encap{src = a, dst = b, gre = {key = 1 << 32}} end
  if turn == 15 then pkt:encap{src = a, dst = b, gre = {key = "7"}} end
  if turn == 16 then pkt:encap{src = a, dst = b, vxlan = {}} end
  if turn == 17 then pkt:encap{src = a, dst = b, vxlan = {vni = 1 << 24}} end
  if turn == 18 then pkt:encap{src = a, dst = b, vxlan = {vni = 1, port = -1}} end
  if turn == 19 then pkt:encap{src = a, dst = b, vxlan = {vni = 1, port = 1, sport = 65536}} end
  if turn == 20 then pkt:encap{src = a, dst = b, gue = {port = pkt.eth.src}} end
  if turn == 21 then pkt:encap{src = a, dst = b, gue = {sport = true}} end
  if turn == 22 then arg:encap{gre = 7} end
  if turn == 23 then print(pcall(pkt.encap, pkt, {src = a, dst = b, gre = {key = turn << 30}})) end
  if turn == 24 then print(pcall(pkt.encap, pkt, {src = a, dst = turn, gre = {key = turn}})) end
  if turn == 25 then pkt:setuint16(16, 0xffff) pkt:encap{src = a, dst = b, gre = {}} end
  if turn == 26 then pkt:setuint16(16, 0xe3ff) pkt:encap{src = a, dst = b, gre = {}} print(pkt.ip.length) end
  if turn == 27 then pkt:setuint16(16, 0xe3ff) pkt:encap{src = "::1", dst = "::2", gue = {}} print(pkt.ip.length, pkt.udp.length) end
  if turn == 28 then pkt:setuint16(16, 0xfff8) pkt:encap{src = "::1", dst = "::2", gue = {}} end
  if turn == 29 then pkt:encap{src = a, dst = b, gue = {}} end
  if turn == 30 then pkt:encap{src = a, dst = b, vxlan = {vni = 1}} print(#pkt, pkt.udp.sport) end
  if turn == 31 then pkt:encap{src = pkt.ip.dst, dst = pkt.ip.src, gre = {key = 7}} print(#pkt, pkt.ip.src, pkt.gre.key) end
  if turn == 32 then pkt:encap{src = a, dst = b, gre = {}} end
end)
