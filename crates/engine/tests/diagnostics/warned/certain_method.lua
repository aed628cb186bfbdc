local xdp = require "xdp"

xdp.attach(function(pkt)
  local host = pkt:getstring(0, 4)
  if host:startswith("GET ") then return 1 end
end)
