local xdp = require "xdp"

xdp.attach(function(pkt)
  local from = pkt.eth.src
  if 1 & from == 1 then return 1 end
end)
