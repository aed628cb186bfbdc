-- The same, where packets have none of what is asked for.
-- frames: arp*3 udp
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt)
  turn = turn + 1
  if pkt.ip then print("IP") return end
  if turn == 1 then pkt:decap() end
  if turn == 2 then pkt.payload = "text" end
  if turn == 3 then pkt:pop_vlan() end
end)
