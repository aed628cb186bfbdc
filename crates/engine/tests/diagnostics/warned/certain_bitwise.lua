local xdp = require "xdp"

xdp.attach(function(pkt)
  if pkt.ip and pkt.ip.src & 0xff000000 == 0x0a000000 then return 1 end
end)
