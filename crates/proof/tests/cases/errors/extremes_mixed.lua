-- What math.max and math.min cannot compare is an error without a position, one argument of any type is fine.
-- frames: udp tcp arp tls short
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  print(math.max(nil), math.min(n > 1), math.max(pkt.tcp and 1))
  if pkt.tcp then print(math.max(n, 1, pkt:getstring(0, 2))) end
  if pkt.udp then print(math.min(0, pkt.tcp)) end
  if n < 30 then print(math.max(n > 1, n > 2)) end
  print(math.max())
end)
