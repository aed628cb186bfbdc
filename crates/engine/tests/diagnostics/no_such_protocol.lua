local xdp = require "xdp"

xdp.attach(function(pkt)
  if pkt.ipv4 then return 1 end
end)
