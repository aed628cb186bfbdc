-- Tables with known keys: fields on different paths, nested, in loops, and cleared again.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 hex:0504030201000000000000000000 hex:ff00ff00ff00ff00ff00ff00ff00
local xdp = require "xdp"

xdp.attach(function(pkt)
  local p = { src = #pkt, dst = pkt:getuint8(0), ports = { pkt:getuint8(1), pkt:getuint8(2) } }
  p.sum = p.src + p.dst
  if p.sum > 100 then p.kind = "big" else p.kind = "small"; p.extra = 1 end
  print(p.kind, p.sum, p.ports[1], p.ports[2], #p.ports, p.extra)

  local acc = { total = 0, seen = false }
  for off = 3, 3 + pkt:getuint8(3) % 8 do
    acc.total = acc.total + pkt:getuint8(off)
    if pkt:getuint8(off) == 0 then acc.seen = true; acc.last = off end
  end
  print(acc.total, acc.seen, acc.last)

  local t = {}
  t[pkt:getuint8(4) % 3 == 0 and "x" or "y"] = 1
  print(t.x, t.y, t[pkt:getuint8(4) % 3 == 0])
  t.x, t.y = nil, nil
  print(t.x, t.y)

  local q = { 10, 20, 30, [true] = "yes", [false] = "no" }
  t[10000000000000000] = "large"
  print(t[1e16], t[2.0], t[0.5])
  print(q[pkt:getuint8(5) % 4], q[pkt:getuint8(5) > 60], rawget(q, true), rawlen(q), rawequal(q, q), #q)
end)
