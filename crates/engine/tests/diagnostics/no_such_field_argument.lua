local xdp = require "xdp"

xdp.attach(function(pkt, arg)
  if arg.ip then return 1 end
end)
