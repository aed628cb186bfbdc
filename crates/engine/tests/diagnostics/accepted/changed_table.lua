local xdp = require "xdp"

local totals = { tcp = 0, udp = 0 }
xdp.attach(function(pkt)
  totals.tcp = totals.tcp + 1
  if totals[pkt:getstring(0, 3)] then return 1 end
end)
