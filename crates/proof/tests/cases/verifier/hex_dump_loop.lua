-- A hex dump: the texts of sixteen bytes, each as long as it needs to be, as one string.
-- frames: tcp udp arp hex:00000000000000000000000000000000 hex:0102030405060708090a0b0c0d0e
local xdp = require "xdp"
xdp.attach(function(pkt)
  local o = {}
  for i = 0, 15 do
    o[#o + 1] = string.format("%02x", pkt:getbyte(i) or 0)
  end
  print(table.concat(o))
end)
