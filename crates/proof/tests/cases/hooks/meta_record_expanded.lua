-- Records in front of packets in expanded code: fields that are integers or booleans, or either, or not there, on paths that meet and in loops.
-- frames: udp tcp arp udp6
local xdp = require "xdp"

local fixed = { class = 7, trusted = true }
local counted = { class = 0 }

local function show(m)
  if m then
    print(m.class, m.port, m.trusted, m.missing, m == m, type(m))
  else
    print("none", m)
  end
end

local function classify(pkt, m)
  m.class = (m.class or 0) + 1
  m.trusted = pkt.tcp ~= nil
end

xdp.attach(function(pkt)
  show(pkt.meta)
  pkt.meta = { class = 3, port = pkt.udp and pkt.udp.dport, trusted = true, unread = 5 }
  show(pkt.meta)
  local m = pkt.meta
  classify(pkt, m)
  show(m)
  pkt:grow(4, "head")
  show(m)
  pkt:shrink(4, "head")
  if pkt.ip then pkt.ip.ttl = 9 end
  show(pkt.meta)
  m.port = nil
  m.class = -1
  show(m)
  if pkt.arp then pkt.meta = {} show(pkt.meta) end
  local t = { port = 1 }
  if pkt.tcp then t.class = #pkt t.port = nil end
  for i = 1, #pkt % 7 do
    t.trusted = i > 2
    pkt.meta = t
  end
  t.port = 99
  show(pkt.meta)
  pkt.meta = fixed
  show(pkt.meta)
  counted.class = counted.class + #pkt
  pkt.meta = counted
  show(pkt.meta)
  pkt.meta = { class = pkt.ip and pkt.ip.ttl or pkt.arp ~= nil, port = -1, big = math.mininteger }
  show(pkt.meta)
  print(pkt.meta.big, pkt.meta.class == 9)
  if pkt.udp then
    pkt.meta = 5
    print(pkt.meta == 5, m.class, m.trusted)
  end
end)

xdp.attach(function(pkt)
  local m = pkt.meta
  if m == 5 then print("then", 5) elseif m then print("then", m.class, m.port, m.trusted) end
  if pkt.tcp then
    pkt.meta = { class = pkt.ip.src }
  elseif pkt.arp then
    m.class = "text"
  else
    pkt.meta.class = 1
  end
end)
