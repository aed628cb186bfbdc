local xdp = require "xdp"

xdp.attach(function(pkt)
  if pkt:getuint16("first") == 0 then return 1 end
end)
