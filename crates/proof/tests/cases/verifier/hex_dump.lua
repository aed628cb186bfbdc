-- A hex dump, written out.
-- frames: tcp udp arp hex:00000000000000000000000000000000 hex:0102030405060708090a0b0c0d0e
local xdp = require "xdp"
xdp.attach(function(pkt)
  local o = {}
  o[#o + 1] = string.format("%02x", pkt:getbyte(0) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(1) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(2) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(3) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(4) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(5) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(6) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(7) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(8) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(9) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(10) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(11) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(12) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(13) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(14) or 0)
  o[#o + 1] = string.format("%02x", pkt:getbyte(15) or 0)
  print(table.concat(o))
end)
