-- Payloads that cannot be assigned.
-- frames: udp*6 arp gre fragment later-fragment udp/36 udp6
local xdp = require "xdp"

local turn, long = 0, ("x"):rep(65510)
xdp.attach(function(pkt)
  turn = turn + 1
  if turn == 1 then pkt.payload = 7 end
  if turn == 2 then pkt.payload = nil end
  if turn == 3 then pkt.payload = pkt.ip end
  if turn == 4 then pkt.payload = pkt:getuint8(0) end
  if turn == 5 then pkt.payload = long end
  if turn == 6 then pkt.payload = pkt.ip.dst print(#pkt, pkt.payload, pkt.udp.length) end
  if turn > 6 then pkt.payload = "text" print(#pkt, pkt.payload) end
end)
