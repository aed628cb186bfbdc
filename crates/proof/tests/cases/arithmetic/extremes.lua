-- math.max and math.min give the argument itself, of whatever type: they compare as `<` does.
-- frames: udp tcp tls dns:www.example.org
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n, b = #pkt, pkt:getbyte(23)
  local name, ua = pkt:getstring(14, 2), "E" .. n
  print(math.max(n, b), math.min(n, b), math.max(n), math.min(b, n, 3, -n), math.max(b, 52, n, 52))
  print(math.max(name, "E"), math.min(name, "E"), math.max("a", "b"), math.min("a", "b", ""), math.max(name, ua, "E6"), math.min("10", "9"))
  print(math.type(math.max(52, 52.0)), math.type(math.max(52.0, 52)), math.min("10", "9") + n)
  print(math.min(n, math.huge), math.max(-math.huge, b, n), math.max("z", "10" .. n) .. n)
end)
