local xdp = require "xdp"

xdp.attach(function(pkt, arg)
  print(arg:getstring(0))
end)
