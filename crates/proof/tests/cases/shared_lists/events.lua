-- Events carry no lists.
-- general: lists as values, in general code
-- frames: tcp udp
local xdp = require "xdp"
local rows = map { key = "int", value = { list = { "int", "int" }, n = "int" }, capacity = 16 }
xdp.attach(function(pkt)
  rows[1] = { n = #pkt, list = { 1 } }
  if pkt.udp then event("n", rows[1].n) else event("row", rows[1]) end
end)
