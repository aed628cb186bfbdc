-- Multiple results, adjusted to what the place takes (manual § 3.4.12).
-- frames: tcp udp
local xdp = require "xdp"
local function two(pkt) return pkt:getuint8(0), pkt:getuint8(1) end
local function none() end
local function pass(...) return ... end
xdp.attach(function(pkt)
  local a, b, c = two(pkt)
  print(a, b, c)
  local d, e = (two(pkt))
  print(d, e, two(pkt))
  print(two(pkt), two(pkt))
  print((two(pkt)), none(), (none()))
  local f, g, h = two(pkt), 5
  print(f, g, h, pass(), pass(1), pass(two(pkt)))
  print(pass(1, none()), pass(none(), none()), select("#", pass(nil, nil)), select("#", none()))
  a, b = b, a
  print(a, b)
  return pass(a & 1, 7)
end)
