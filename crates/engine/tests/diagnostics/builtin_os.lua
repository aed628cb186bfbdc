local xdp = require "xdp"

xdp.attach(function(pkt)
  if os.time() > 1800000000 then return 1 end
end)
