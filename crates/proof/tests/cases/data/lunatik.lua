-- What Lunatik's objects have: integers in the machine's order by offset, strings, checksums, other lengths.
-- frames: tcp udp hex:000102030405060708090a0b0c0d
local data = require "data"
local xdp = require "xdp"

xdp.attach(function(pkt)
  local object = data.new(16)
  object:setuint8(0, 0x1ff)
  object:setint16(1, -2)
  object:setuint32(3, 0x89abcdef)
  object:setint64(7, math.mininteger + pkt:getbyte(0))
  object:setbyte(15, "7")
  print(object:getbyte(0), object:getint8(0), object:getuint16(1), object:getint16(1), object:getuint32(3), object:getint32(3))
  print(object:getint64(7), object:getnumber(7), object:getuint8(15), #object)
  object:setstring(2, "text")
  print(object:getstring(2, 4), #object:getstring(1), object:getstring(16), object:checksum(), object:checksum(3), object:checksum(1, 5))
  object:resize(4)
  print(#object, tostring(object) == object:getstring(0))
  object:resize(20)
  print(#object, object:getbyte(19), object:getbyte(5), object:getstring(2, 5) == "te\0\0\0")
  local part = pkt:segment(2, 8)
  print(part:getbyte(0), part:getint8(1), part:getuint16(0), part:getint16(2), part:getuint32(0), part:getint32(4), part:getint64(0))
  print(part:getstring(0, 3), #part:getstring(2), part:checksum() == pkt:checksum(2, 8), part:checksum(1, 4) == pkt:checksum(3, 4))
  part:setuint16(1, 0x1234)
  part:setstring(3, "ab")
  print(pkt:getuint16(3), pkt:getstring(5, 2), #pkt, tostring(part) == pkt:getstring(2, 8))
  print(data.new(3, "single") ~= nil, data.new("x", "shared") ~= nil)
end)
