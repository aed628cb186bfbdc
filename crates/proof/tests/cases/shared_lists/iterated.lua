-- What is no list, where a list is expected.
-- general: lists as values, in general code
-- frames: tcp udp icmp arp
local xdp = require "xdp"
local rows = map { key = "int", value = { list = { "int", "int" }, n = "int" }, capacity = 16 }
xdp.attach(function(pkt)
  if pkt.tcp then rows[1] = { list = { 4, 5 } } else rows[1] = { n = #pkt } end
  local n = 0
  if pkt.icmp then
    for i in ipairs(#pkt) do n = n + i end
  end
  for i, v in ipairs(rows[1].list) do n = n + i * v end
  print(n)
end)
