-- Tables that only later code, or the loop itself, shows to be shared.
-- frames: tcp udp tcp arp
local xdp = require "xdp"
local first, inner, filled = {}, { a = 1, b = 2, c = 3 }, { [7] = { n = 1 } }
xdp.attach(function(pkt)
  local n = 0
  for k, v in pairs(first) do n = n + v end
  print(n, next(first) == nil, next(filled) == nil)
  for name, value in pairs(inner) do inner[name] = value + #name end
  for name, value in pairs(inner) do n = n + value end
  for _, record in pairs(filled) do n = n + record.n end
  print(n)
  first[#pkt] = 1
  filled[#pkt] = { n = #pkt }
  for k, v in pairs(#pkt ~= 66 and first or nil) do print(k > 0, v) break end
end)
