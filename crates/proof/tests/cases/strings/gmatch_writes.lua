-- The packet is written while `gmatch` goes through bytes of it: far from them, and among them.
-- frames: udp:the\squick\sbrown\sfox udp:a,b,,c udp-empty
local xdp = require "xdp"
xdp.attach(function(pkt)
  for w in pkt:getstring(20):gmatch("%a+") do pkt:setbyte(3, 1) print(w) end
  local n = 0
  for w in (pkt.payload or ""):gmatch("[^,]*") do
    if #pkt > 44 then pkt:setbyte(44, 120) end
    n = n + 1
    print(n, w)
  end
  for k, p in pkt:getstring(40):gmatch("(%w)()") do
    if p & 1 == 0 then pkt:setbyte(43, p & 127) end
    print(k, p)
  end
end)
