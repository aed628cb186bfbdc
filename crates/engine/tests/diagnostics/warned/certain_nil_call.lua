local xdp = require "xdp"

xdp.attach(function(pkt)
  if pkt.udp then
    coutn(pkt)
  end
end)
