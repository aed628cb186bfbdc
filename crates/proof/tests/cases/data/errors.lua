-- Errors of methods by offset, by the first byte of the frame; fields raise none.
-- frames: hex:000102030405060708090a0b0c0d hex:010102030405060708090a0b0c0d hex:020102030405060708090a0b0c0d hex:030102030405060708090a0b0c0d
-- frames: hex:040102030405060708090a0b0c0d hex:050102030405060708090a0b0c0d hex:060102030405060708090a0b0c0d hex:070102030405060708090a0b0c0d
-- frames: hex:080102030405060708090a0b0c0d hex:090102030405060708090a0b0c0d hex:0a0102030405060708090a0b0c0d hex:0b0102030405060708090a0b0c0d
-- frames: hex:0c0102030405060708090a0b0c0d hex:0d0102030405060708090a0b0c0d hex:0e0102030405060708090a0b0c0d hex:0f0102030405060708090a0b0c0d
-- frames: hex:100102030405060708090a0b0c0d hex:110102030405060708090a0b0c0d hex:120102030405060708090a0b0c0d
local data = require "data"
local xdp = require "xdp"

xdp.attach(function(pkt)
  local kind = pkt:getbyte(0)
  local object = data.new(4)
  object:layout { 0, x = 5 }
  object.x = {}
  if kind == 0 then object:getbyte(4) end
  if kind == 1 then object:getuint32(1) end
  if kind == 2 then object:setuint16(-1, 5) end
  if kind == 3 then object:setuint16(5, "x") end
  if kind == 4 then object:getstring(2, 3) end
  if kind == 5 then object:setstring(1, "abcd") end
  if kind == 6 then pkt:segment(2):resize(9) end
  if kind == 7 then object:resize(-1) end
  if kind == 8 then pkt:getuint16(#pkt - 1) end
  if kind == 9 then pkt:getint64() end
  if kind == 10 then object.getbyte(7, 1) end
  if kind == 11 then data.new(3, "many") end
  if kind == 12 then object:checksum(3, 2) end
  if kind == 13 then object:getbyte(1.5) end
  if kind == 14 then pkt:segment(2, 4):setbyte(4, 1) end
  if kind == 15 then object:setstring(0, nil) end
  if kind == 16 then pkt:grow(-1) end
  if kind == 18 then pkt.mark = 7 end
  if kind == 17 then pkt.packet:getuint16(13) end
  print(object.x, object:segment(9))
end)
