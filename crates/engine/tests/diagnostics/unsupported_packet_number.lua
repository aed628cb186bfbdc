local xdp = require "xdp"

xdp.attach(function(pkt)
  if pkt[12] == 8 then return 1 end
end)
