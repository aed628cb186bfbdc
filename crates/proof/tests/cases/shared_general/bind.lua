-- A table that was assigned is the entry from then on, and so are the tables in its fields.
-- frames: tcp udp tcp udp syn tcp tcp udp
local xdp = require "xdp"
local t = map { key = "int", value = { n = "int", inner = { m = "int" } } }

xdp.attach(function(pkt)
  local k = #pkt
  local f = t[k]
  if f == nil then
    f = { n = 1, inner = { m = 7 } }

    local inner = f.inner
    t[k] = f
    inner.m = inner.m + 1
    f.n = f.n + 1
    print(inner == t[k].inner, f == t[k])
  end
  local list = { f, f.inner }
  list[1].n = (list[1].n or 0) + 1
  list[2].m = list[2].m - 2
  t[k] = t[k] or { n = -100 }
  t[k] = f
  print(f.n, f.inner.m, t[k].n, t[k].inner.m, list[1] == f)
  t[k] = { n = f.n * 2, inner = { m = f.inner.m * 2 } }
  print(t[k].n, t[k].inner.m)
  local g = t[k]
  if g.n > 20 then
    t[k] = nil
    print(t[k], pcall(error, "x"))
  else
    g.inner = nil
    print(g.inner, pcall(function() return g.inner.m end))
    g.inner = { m = 3 }
    g.n = nil
    print(g.n, g.inner.m)
    g.n = 8
  end
end)
