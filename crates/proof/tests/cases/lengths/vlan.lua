-- VLAN tags that are put into packets and taken away, and what `pkt.vlan` is afterwards.
-- frames: all truncated:vlan-tcp truncated:qinq-tls6/60 vlan-tcp qinq-tls6
-- frames: hex:02000000000102000000000288a80007810001 hex:02000000000102000000000288a800078100012c0800 hex:0200000000010200000000028100000a0005ffffffff
local xdp = require "xdp"

local function show(pkt, what)
  local vlan = pkt.vlan
  if not vlan then print(what, nil, #pkt, pkt.eth and pkt.eth.type) return end
  print(what, vlan.id, vlan.priority, vlan.dei, vlan.type, vlan.inner_id, #pkt)
end

xdp.attach(function(pkt)
  local ip = pkt.ip
  show(pkt, "before")
  if pkt.vlan then
    pkt:pop_vlan()
    show(pkt, "popped")
  end
  pkt:push_vlan(100)
  show(pkt, "pushed")
  pkt.vlan.id, pkt.vlan.dei = 5, true
  pkt.vlan.priority = pkt.vlan.priority ~ 3
  show(pkt, "assigned")
  pkt:push_vlan(pkt:getuint8(0) | 0xf00, 7, 0x88a8)
  show(pkt, "twice")
  print(ip and ip.ttl, pkt.ip and pkt.ip.dst, pkt:checksum())
  pkt:pop_vlan()
  show(pkt, "popped")
  pkt:pop_vlan()
  show(pkt, "all")
  print(ip and ip.ttl, pkt.ip and pkt.ip.dst, pkt:checksum())
end)
