-- Floats with integral value where a function takes an integer, and the errors of others.
-- frames: udp tcp icmp arp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  local whole = n / n
  print(pkt:getuint8(whole * 12), pkt:getuint16(12.0), ("abc"):sub(whole, whole * 2), ("abc"):byte(whole + 1), ("x"):rep(3.0))
  print(select(whole, "a", "b"), string.char(whole * 65), ("abc"):find("b", whole, true))
  if pkt.udp then print(pkt:getuint8(whole * 0.5)) end
  if pkt.tcp then return whole * 2 end
  if pkt.icmp then print(("abc"):sub(n + 0.5)) end
  print(("abc"):sub(1.5))
end)
