local xdp = require "xdp"

xdp.attach(function(pkt)
  local name = pkt:getstring(0, 3)
  if pkt[name] then return 1 end
end)
