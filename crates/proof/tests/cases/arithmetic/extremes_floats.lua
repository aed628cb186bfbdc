-- Variables that are what math.max and math.min give of integers and floats: which one it is, it stays.
-- frames: udp tcp tls dns:www.example.org
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n, b = #pkt, pkt:getbyte(23)
  local most, few = math.max(n, 52.5), math.min(52.0, n, b + 40)
  print(most == n, most == 52.5, math.type(most), math.type(few), few == 52, few == n)
  print(math.max(n, 52.5) == n, math.min(b, 1.5, n, 2.5) == 1.5, math.type(math.max(n, 52.0)))
  local least, top = math.huge, -math.huge
  for i = 14, 30 do
    least, top = math.min(least, pkt:getbyte(i)), math.max(top, pkt:getbyte(i))
  end
  print(least, top)
end)
