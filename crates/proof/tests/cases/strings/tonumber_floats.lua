-- `tonumber` of texts from packets that are floats.
-- frames: udp:1.5 udp:-0.25 udp:3e5 udp:1e22 udp:1e-22 udp:123456789.25 udp:\s7.5\s udp:-.5e1 udp:3. udp:1.e+2 udp:5E-3x udp:\s\s2.5e-3\n
-- frames: udp:0e0 udp:000.125 udp:0.1 udp:-0.0 udp:.e1 udp:1e+ udp:1e0x udp:4503599627370496e-5 udp:900719925474099.1 udp:7e-22 udp:2.50
-- frames: udp:12 udp:0x10 udp:x udp:1.5.5 udp:1e5.0 udp:-1e-1 udp:+8.25e2
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload or ""
  local n = tonumber(s)
  print(n, math.type(n), math.tointeger(s))
  if n then print(n * 2, n // 1, n < 1, n == 1.5, -n) end
  if math.type(n) == "float" then print(n / 3, math.floor(n)) end
end)
