-- What a list has no room for.
-- general: lists as values, in general code
-- frames: tcp udp icmp
local xdp = require "xdp"
local rows = map { key = "int", value = { "int", "string:4" }, capacity = 16 }
xdp.attach(function(pkt)
  rows[1] = { 1, "abcd" }
  if pkt.tcp then rows[1] = { 1, pkt.ip.src } end
  if pkt.udp then rows[2] = { 1, tostring(#pkt) .. "12345" } end
  rows[#pkt] = { #pkt, nil }
  print(rows[#pkt][1], rows[1][2])
end)
