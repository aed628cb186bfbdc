-- What was read before an assignment on some of the paths is a plain value behind it, and a sum on the others.
-- frames: tcp udp tcp icmp udp udp6 tls tcp syn*3 udp
local xdp = require "xdp"
local n, r, gone = {}, {}, {}
n[1], n[2], r[1] = 10, 20, { a = 1, b = 2 }
xdp.attach(function(pkt)
  local v, w = n[1], n[2]
  if pkt.udp then n[1] = 5 else n[1] = v + 1 end
  print(n[1])
  if pkt.tcp then n[2] = w + 1 else n[2] = 7 end
  n[2] = w + 2
  print(n[2])

  v = n[1]
  if #pkt > 100 then n[1] = nil elseif #pkt > 70 then n[pkt.udp and 1 or 2] = 3 end
  n[1] = v + 3
  print(n[1], n[2])

  local e = r[1]
  local a, b = e.a, e.b
  if pkt.udp then e.a = 100 end
  e.b = b + 1
  e.a = a + 1
  if pkt.tcp then r[1] = { a = a, b = 4 } end
  r[1].b = b + 10
  print(r[1].a, r[1].b)

  for i = 1, 3 do
    v = n[1]
    if i == 2 then n[1] = i else n[1] = v + i end
    if pkt.udp then n[2] = n[2] + 1 else w = n[2] end
  end
  n[2] = w + 1
  print(n[1], n[2])

  local key = #pkt
  if gone[key] then gone[key] = gone[key] + 1 else gone[key] = (gone[key] or 0) + 1 end
  if not gone[key + 1] then gone[key + 1] = 4 gone[key + 1] = 6 end
  local c = gone[key]
  if c > 1 then gone[key] = nil gone[key] = c - 1 end
  if not gone[0] then if pkt.udp then gone[0] = 1 end gone[0] = (gone[0] or 0) + 2 end
  print(gone[key], gone[key + 1], gone[0])
  if pkt.tcp then gone[0] = nil end
end)
