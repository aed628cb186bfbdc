-- `t[k] = t[k] or {…}` and its like.
-- frames: tcp udp tcp udp6 udp tcp
local xdp = require "xdp"
local a, b, c, d = {}, {}, {}, {}
xdp.attach(function(pkt)
  local k = #pkt
  a[k] = a[k] or { n = 0 }
  a[k].n = a[k].n + 1
  local f = b[pkt.ip.src] or { n = 10, m = { x = 0 } }
  b[pkt.ip.src] = f
  f.n = f.n + 1
  f.m.x = f.m.x - k
  local g = c[k]
  if g == nil then g = { n = 0, on = false } end
  g.on = not g.on
  g.n = g.n + 5
  c[k] = g
  local h = k > 60 and d[k] or { n = k }
  d[k] = h
  h.n = h.n + 1
  print(a[k].n, f.n, f.m.x, g.n, g.on, h.n, d[k].n, c[k].on)
end)
