local xdp = require "xdp"

local blocked = map { capacity = 100 }
xdp.attach(function(pkt)
  if blocked[pkt.ip.src] then return 1 end
end)
