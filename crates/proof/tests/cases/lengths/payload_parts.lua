-- Payloads that are made of the packet's own bytes, of addresses and of other strings, and empty ones.
-- frames: all truncated:udp truncated:tcp6/80 vlan-tcp qinq-tls6
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt)
  if not (pkt.tcp or pkt.udp or pkt.icmp) or pkt.ip.more_fragments then return end
  local before = pkt.payload
  turn = turn + 1
  local text = ""
  if turn % 4 == 1 then text = before:sub(1, 30) end
  if turn % 4 == 2 then text = pkt:getstring(0, 14) .. pkt.ip.src end
  if turn % 4 == 3 then text = pkt:getstring(1, pkt:getuint8(0) & 15) end
  pkt.payload = text
  print(#pkt, pkt.ip.length, pkt.udp and pkt.udp.length, pkt:checksum(), pkt.payload, before == pkt.payload)
end)
