-- A variable that begins with a float and becomes an integer: the least and the greatest of what a packet has.
-- frames: udp tcp tls
local xdp = require "xdp"
xdp.attach(function(pkt)
  local least, most = math.huge, -math.huge
  for i = 14, 40 do
    local b = pkt:getbyte(i)
    if b < least then least = b end
    if b > most then most = b end
  end
  local limit = math.huge
  if #pkt > 60 then limit = 3 end
  print(least, most, #pkt < limit, limit == 3)
end)
