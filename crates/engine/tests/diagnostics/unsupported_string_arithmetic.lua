local xdp = require "xdp"

xdp.attach(function(pkt)
  local digits = pkt:getstring(40, 3)
  if digits + 1 > 100 then return 1 end
end)
