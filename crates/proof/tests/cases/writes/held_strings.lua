-- Strings of the packet's bytes that are held while a field is assigned, by an instruction or in a metamethod, keep their bytes: whichever
-- register the assigned object is in, those above it are still used.
-- frames: udp tcp udp6 truncated:udp
local xdp = require "xdp"

local setter = setmetatable({}, {
  __newindex = function(_, pkt, value) pkt.udp.sport = value end,
  __index = function(_, pkt) pkt.udp.dport = 0x4344 return 7 end,
})

xdp.attach(function(pkt)
  local first = 0
  local udp = pkt.udp
  if not udp or #pkt < 44 then return end
  local before = pkt:getstring(34, 4)
  udp.sport = 0x4142
  print(before:byte(1, 4), pkt:getuint8(34))
  local payload, text = pkt.payload, pkt:getstring(42, 2)
  first = pkt.ip.ttl
  pkt.ip.ttl = first - 1
  pkt.payload = text
  print(#payload, payload:byte(1, 3), text:byte(1, 2), payload == pkt.payload, first)
end)

xdp.attach(function(pkt)
  if not pkt.udp or #pkt < 40 then return end
  local first = 0
  first = pkt.udp.sport
  udp_port = first
  setter[pkt] = 0x4546
  first = setter[pkt]
  print(first, pkt.udp.sport, pkt.udp.dport)
end)
