-- A record with more fields than have their bits in 4 bytes.
-- frames: udp tcp arp
local xdp = require "xdp"

xdp.attach(function(pkt)
  local t = {}
  t.f1 = #pkt
  t.f2 = #pkt * 2
  t.f3 = pkt.udp ~= nil
  t.f4 = #pkt * 4
  t.f5 = #pkt * 5
  t.f6 = pkt.udp ~= nil
  t.f7 = #pkt * 7
  t.f8 = #pkt * 8
  t.f9 = pkt.udp ~= nil
  t.f10 = #pkt * 10
  t.f11 = #pkt * 11
  t.f12 = pkt.udp ~= nil
  t.f13 = #pkt * 13
  t.f14 = #pkt * 14
  t.f15 = pkt.udp ~= nil
  t.f16 = #pkt * 16
  t.f17 = #pkt * 17
  t.f18 = pkt.udp ~= nil
  t.f19 = #pkt * 19
  t.f20 = #pkt * 20
  pkt.meta = t
  pkt.meta.f17 = nil
  if pkt.tcp then pkt.meta.f20 = nil end
  local m = pkt.meta
  print(m.f1, m.f2, m.f3, m.f4, m.f5, m.f6, m.f7, m.f8, m.f9, m.f10, m.f11, m.f12, m.f13, m.f14, m.f15, m.f16, m.f17, m.f18, m.f19, m.f20)
end)
