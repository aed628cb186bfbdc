-- frames: udp
-- A sum of what was read before a loop is assigned in each turn: it is the same each time.
local xdp = require "xdp"
local t, r = {}, {}
xdp.attach(function(pkt)
  t[1] = t[1] or 0
  local n = t[1]
  for i = 1, pkt:getuint8(14) & 7 do
    t[1] = n + 1
  end
  print(t[1])
  r[1] = r[1] or { n = 3 }
  local e = r[1]
  local m = e.n
  for i = 1, pkt:getuint8(14) & 7 do
    e.n = m + 2
  end
  print(r[1].n)
end)
