-- The second argument holds the payload's offset, big-endian.
-- frames: all tcp/50
local xdp = require "xdp"
xdp.attach(function(pkt, arg)
  local offset = arg:getbyte(0) << 8 | arg:getuint8(1)
  print(#arg, offset, arg:getuint16(0), arg:getint16(0), arg:getint8(1), #pkt)
  if offset < #pkt then print(pkt:getuint8(offset)) end
  if pkt.udp then arg:setbyte(0, 1) end
  if pkt.tcp then print(arg:getuint16(1)) end
  print(arg:getuint32(0))
end)
