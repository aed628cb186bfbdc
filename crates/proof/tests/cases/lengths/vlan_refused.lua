-- Tags that are none, and packets without any.
-- frames: udp*9 vlan-tcp*2 qinq-tls6/18 qinq-tls6/20
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt, arg)
  turn = turn + 1
  local n = pkt:getuint8(14)
  if turn == 1 then pkt:push_vlan(4096) end
  if turn == 2 then pkt:push_vlan(-1) end
  if turn == 3 then pkt:push_vlan(1, 8) end
  if turn == 4 then pkt:push_vlan(1, 0, 0x9100) end
  if turn == 5 then pkt:push_vlan(n * n) end
  if turn == 6 then pkt:push_vlan() end
  if turn == 7 then pkt:pop_vlan() end
  if turn == 8 then arg:push_vlan(1) end
  if turn == 9 then pkt:push_vlan(1) pkt:push_vlan("2", nil, nil) print(pkt.vlan.id, pkt.vlan.inner_id) end
  if turn == 10 then pkt:pop_vlan() pkt:pop_vlan() end
  if turn == 11 then pkt.vlan.type = 0x8100 print(pkt.vlan.inner_id) pkt:pop_vlan() print(pkt.vlan.id) end
  if turn > 11 then print(pkt.vlan and pkt.vlan.id, #pkt) pkt:pop_vlan() print(#pkt) end
end)
