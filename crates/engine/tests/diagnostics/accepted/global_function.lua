local xdp = require "xdp"
xdp.attach(function(pkt, arg)
  global function f() return 1 end return f()
end)
