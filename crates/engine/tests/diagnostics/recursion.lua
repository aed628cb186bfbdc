local xdp = require "xdp"

local function skip(pkt, offset)
  if pkt:getbyte(offset) == 0 then return offset end
  return skip(pkt, offset + 1)
end
xdp.attach(function(pkt)
  if skip(pkt, 14) > 100 then return 1 end
end)
