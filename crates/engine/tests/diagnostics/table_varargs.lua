local xdp = require "xdp"

local function count(...args)
  return #args
end
xdp.attach(function(pkt)
  if count(pkt.tcp, pkt.udp) > 1 then return 1 end
end)
