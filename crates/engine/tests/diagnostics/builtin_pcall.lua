local xdp = require "xdp"

xdp.attach(function(pkt)
  local fine, byte = pcall(pkt.getbyte, pkt, 100)
  if fine and byte == 0 then return 1 end
end)
