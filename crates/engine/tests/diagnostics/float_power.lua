local xdp = require "xdp"

xdp.attach(function(pkt)
  local limit = 2 ^ pkt:getbyte(20)
  if #pkt > limit then return 1 end
end)
