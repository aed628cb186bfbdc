local xdp = require "xdp"

xdp.attach(function(pkt)
  local weight = 0.5
  if pkt.tcp then weight = 2.5 end
  if weight > 1 then return 1 end
end)
