-- `select` whose first argument has one type on one way and another one on another, or is the least integer; a value too few.
-- frames: tcp udp short arp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local p = pkt.payload
  print(select(pkt.tcp and 1 or "#", 1, 2))
  print(select("1", 7, pkt.udp and 8 or nil))
  local from
  if #pkt > 20 then from = -1 end
  if pkt.tcp then print(select(from, 5, 6)) end
  if pkt.udp then print(select(math.mininteger, 1)) end
  if not pkt.ip then print(rawequal(#pkt)) end
  print(select(p and p:byte(1) and 1, 1))
end)
xdp.attach(function(pkt) if #pkt < 20 then print(rawlen(pkt.udp or 5)) end end)
