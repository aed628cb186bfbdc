local xdp = require "xdp"

xdp.attach(function(pkt)
  local length = tonumber(pkt:getstring(40, 3))
  if length and length > 100 then return 1 end
end)
