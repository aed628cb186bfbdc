local xdp = require "xdp"

xdp.attach(function(pkt)
  if #pkt * 1.5 > 1500 then return 1 end
end)
