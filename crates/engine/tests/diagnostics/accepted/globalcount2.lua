local xdp = require "xdp"
xdp.attach(function(pkt)
  if #pkt > 100 then total = total + 1 else total = 0 end
  if total == 7 then return 1 end
end)
