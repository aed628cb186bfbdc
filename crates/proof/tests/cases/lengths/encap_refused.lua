-- What cannot be put inside, or taken out.
-- frames: udp*14 arp*2 udp6 hex:02000000000102000000000286dd600000000000110120010db800000000000000000000000120010db8000000000000000000000002
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt, arg)
  turn = turn + 1
  if turn == 1 then pkt:encap() end
  if turn == 2 then pkt:encap("192.0.2.1") end
  if turn == 3 then pkt:encap("192.0.2.1", 7) end
  if turn == 4 then pkt:encap("192.0.2.1", "::1") end
  if turn == 5 then pkt:encap("::1", pkt.ip.src) end
  if turn == 6 then pkt:encap("192.0.2.01", "192.0.2.2") end
  if turn == 7 then pkt:encap(pkt.eth.src, "192.0.2.2") end
  if turn == 8 then pkt:encap("192.0.2.1", "192.0.2.2", 256) end
  if turn == 9 then pkt:encap("192.0.2.1", "192.0.2.2", "x") end
  if turn == 10 then pkt:decap() end
  if turn == 11 then arg:decap() end
  if turn == 12 then pkt:setuint16(16, 0xffff) pkt:encap("192.0.2.1", "192.0.2.2") end
  if turn == 13 then print(pcall(pkt.encap, pkt, "192.0.2.1", tostring(pkt.ip.src):gsub("1", "1"))) print(#pkt, pkt.ip.dst) end
  if turn == 14 then pkt:encap(pkt.ip.dst, pkt.ip.src, nil) print(#pkt, pkt.ip.src, pkt.ip.dst) end
  if turn == 15 then pkt:encap("192.0.2.1", "192.0.2.2") end
  if turn == 16 then pkt:decap() end
  if turn == 17 then pkt:encap(pkt.ip.dst, pkt.ip.src, "3") print(#pkt, pkt.ip.src, pkt.ip.dst) end
  if turn == 18 then pkt:encap("192.0.2.1", "192.0.2.2") end
end)
