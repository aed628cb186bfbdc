-- A constant divisor of zero is an error when it is reached.
-- frames: udp tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local x = pkt:getuint8(12)
  if pkt.udp then
    return x % 0
  end
  return x // 0
end)
