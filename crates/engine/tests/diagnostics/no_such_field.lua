local xdp = require "xdp"

xdp.attach(function(pkt)
  if pkt.tcp and pkt.tcp.port == 443 then return 1 end
end)
