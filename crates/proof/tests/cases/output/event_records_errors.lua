-- Tables that events do not carry, and how deep they are nested.
-- frames: tcp udp icmp arp tcp udp icmp arp tls
local xdp = require "xdp"
local count = 0
xdp.attach(function(pkt)
  count = count + 1
  local inner = { packets = count }
  if count == 2 then inner[1] = true end
  if count == 3 then inner.f = print end
  if count == 4 then inner.pkt = pkt end
  local name = "inner"
  if count == 5 then name = nil end
  event(name, "first", inner, { inner = { inner = inner } })
  if count == 6 then inner.self = inner end
  event("self", { inner = inner })
  local a = { a = { a = { a = { a = { a = { a = { a = count } } } } } } }
  local b = 1
  if count > 7 then b = a end
  event("nested", a, { b = { c = b } })
  if count > 7 then b = { a = a } end
  event("nested", b)
end)
