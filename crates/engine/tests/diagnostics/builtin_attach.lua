local xdp = require "xdp"

xdp.attach(function(pkt)
  xdp.attach(function() end)
end)
