-- Bitwise operators convert floats with integral value, and say which operand has none.
-- frames: udp tcp icmp arp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  local whole, part = n / 1, n + 0.5
  print(whole & 15, whole | 1, whole ~ 3, ~whole, whole << 2, n >> (n / n), 1 << whole // 10, -whole & 0xff)
  if pkt.udp then print(part & 1) end
  if pkt.tcp then print(1 | part) end
  if pkt.icmp then print(~part) end
  print(n & 1e100)
end)
