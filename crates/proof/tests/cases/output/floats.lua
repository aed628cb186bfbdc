-- Floats that are printed, sent and raised: receivers write them as Lua does.
-- frames: udp tcp icmp arp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  local third = n / 3
  print(third, n / 1, -n / 1 * 0, n / 0, -n / 0, (n - n) / 0, n * 1e300, third * 1e-10, 0.1 + n - n)
  print(string.format("%.2f %5.1f|%-9.3e|%g %s %+.0f %a", third, third, third, third, third, third, third))
  print(("%5.1f"):format(2.25), ("%g"):format(0.1) .. "x", tostring(1e15))
  print(2 ^ 53, 1e15, -0.0, 1e100 .. "", string.format("%.3f %d %x", n, n / 1, n / 1))
  event("share", third, n / 1, { part = third, whole = n })
  local x = pkt.udp and third or n
  print(x)
  event("either", x)
  if pkt.tcp then error(third) end
  if pkt.udp then error(x, 2) end
  print(string.format("%d", third))
end)
