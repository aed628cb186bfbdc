-- What library functions give is known where a table that handlers write gets its types: `table.pack`, `table.move`, `getmetatable`, `utf8.codes`.
-- frames: all tcp udp6 udp tls6 icmp6 tcp
local xdp = require 'xdp'
local t, u, v, w, x = {}, {}, {}, {}, {}
local mt = { rate = 5 }
xdp.attach(function(pkt)
  local p = table.pack(#pkt, 2, 18)
  t[1] = { n = 1, last = p.n, first = p[1] }
  print(t[1].last, t[1].first)
  local moved = table.move({ #pkt, 2 }, 1, 2, 1, {})
  u[1] = moved[1]
  print(u[1])
  local o = setmetatable({}, mt)
  v[1] = { rate = getmetatable(o).rate }
  print(v[1].rate)
  for at, c in utf8.codes("ab") do w[at] = { c = c } end
  print(w[1].c, w[2].c)
  x[#pkt] = string.pack(">I2", 5)
  print(#x[#pkt])
end)
