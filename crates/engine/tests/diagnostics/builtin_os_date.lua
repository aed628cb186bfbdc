local xdp = require "xdp"

xdp.attach(function(pkt)
  if os.date("*t").hour > 8 then return 1 end
end)
