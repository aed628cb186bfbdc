-- What was written before an error stays written.
-- frames: tcp udp
local xdp = require "xdp"
xdp.attach(function(pkt)
  pkt:setuint16(0, 0xbeef)
  pkt:setuint8(#pkt - pkt:getuint8(14) % 2, 9)
  print "written"
  pkt:setuint8(#pkt, 9)
end)
