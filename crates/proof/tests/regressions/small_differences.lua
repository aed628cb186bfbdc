-- Separators that are not needed, numerals with vertical tabs, one header for each protocol.
-- frames: tcp udp short
local xdp = require "xdp"
xdp.attach(function(pkt)
  print(pkt.eth == pkt.eth, pkt.ip == pkt.ip, pkt.ip == pkt.eth)
  print(tonumber("\v7"))
  print(table.concat({ "a" }, true))
end)
