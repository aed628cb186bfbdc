-- A table that was assigned is the entry from then on.
-- frames: tcp udp tcp udp syn
local xdp = require "xdp"
local t = {}
xdp.attach(function(pkt)
  local f = t[#pkt]
  if f == nil then
    f = { n = 1, inner = { m = 7 } }
    local inner = f.inner
    inner.m = 8
    t[#pkt] = f
    inner.m = inner.m + 1
    f.n = f.n + 1
  end
  f.n = (f.n or 0) + 1
  f.inner.m = f.inner.m - 2
  print(f.n, f.inner.m, t[#pkt].n, t[#pkt].inner.m)
  t[#pkt] = { n = f.n * 2, inner = { m = f.inner.m * 2 } }
  print(t[#pkt].n, t[#pkt].inner.m)
end)
