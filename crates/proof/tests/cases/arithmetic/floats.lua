-- Arithmetic of floats of packet time: every operator, mixed with integers; what integers have of results stays integers.
-- frames: udp tcp tls
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n, b = #pkt, pkt:getbyte(23)
  local half = n / 2
  print(half, n / 7, b / n, -half, half + 1, half - n, half * b, half // 1, half % 1, n // 1.5, -n // 1.5)
  print(n % 2.5, -n % 2.5, n % -2.5, 7.25 % b, math.type(n * 1.0), math.type(n // 2), math.type(n / 1))
  print(1 / (n - n), -1 / (n - n), (n - n) / (n - n), 0.0 / -n, half ^ 2, n ^ 2)
  print(n + 0.1, 1e300 * n * 1e10, n / 3 * 3 == n, (n + 0.5) | 0 == 0)
end)
