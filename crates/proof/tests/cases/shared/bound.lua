-- Tables handed around: what a function stores and returns is the entry.
-- frames: tcp udp tcp udp
local xdp = require "xdp"
local t = {}
local function get(k)
  local e = t[k]
  if not e then
    e = { n = 0 }
    t[k] = e
  end
  return e
end
local function bump(e, by) e.n = e.n + by return e end
xdp.attach(function(pkt)
  local e = bump(get(#pkt), 2)
  bump(get(1), #pkt)
  print(e.n, t[#pkt].n, t[1].n, bump(e, 1).n, get(1).n)
end)
