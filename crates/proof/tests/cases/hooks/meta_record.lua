-- What is put in front of packets at XDP can be a record, of which handlers read and change fields.
-- frames: udp tcp arp udp6
local xdp = require "xdp"

local function show(m)
  if m then
    print(m.class, m.port, m.trusted, m.missing, m == m, type(m))
  else
    print("none", m)
  end
end

local fixed = { class = 7, trusted = true }

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
  for i = 1, 3 do
    t.trusted = i > 2
    pkt.meta = t
  end
  t.port = 99
  show(pkt.meta)
  pkt.meta = fixed
  show(pkt.meta)
  print(pcall(function() pkt.meta = { class = "text" } end))
  print(pcall(function() pkt.meta = { class = 1.5 } end))
  print(pcall(function() pkt.meta = { 1, class = 2 } end))
  print(pcall(function() pkt.meta = "text" end))
  print(pcall(function() pkt.meta.class = "text" end))
  show(pkt.meta)
  if pkt.udp then
    pkt.meta = 5
    print(pkt.meta, m.class, m.trusted)
    print(pcall(function() m.class = 1 end))
    print(pcall(function() return pkt.meta.class end))
    print(pcall(function() pkt.meta.class = 1 end))
  end
end)

xdp.attach(function(pkt)
  local m = pkt.meta
  if m == 5 then print("then", m) elseif m then print("then", m.class, m.port, m.trusted) end
end)
