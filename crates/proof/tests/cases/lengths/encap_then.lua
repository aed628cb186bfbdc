-- What becomes of packets that have been put inside others: at tc the kernel does not move their end any more.
-- frames: udp*6 tcp6*6
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt)
  turn = turn + 1
  local ip = pkt.ip
  pkt:encap(ip.src, ip.dst)
  if turn % 6 == 1 then pkt:grow(9) end
  if turn % 6 == 2 then pkt:shrink(9) end
  if turn % 6 == 3 then pkt:decap() pkt:grow(1) end
  if turn % 6 == 4 then pkt:decap() pkt.payload = "text" print(pkt.payload) end
  if turn % 6 == 5 then pkt:decap() pkt.payload = pkt.payload:upper() print(pkt.payload, pkt:checksum()) end
  if turn % 6 == 0 then pkt:grow(20, "head") pkt:shrink(20, "head") pkt:push_vlan(5) pkt:pop_vlan() end
  print(#pkt, ip.dst)
end)
