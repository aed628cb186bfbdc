local xdp = require "xdp"
xdp.attach(function(pkt)
  if pkt.udp.dport == 53 then return 1 end
end)
