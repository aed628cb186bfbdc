-- A read whose value nobody needs leaves only its comparison with the frame's end, before a loop to which other ways lead too: frames
-- that are shorter do the loop's turns as well.
-- frames: hex:52ff00123456023a0000000a0800 hex:52ff00123456023aff0000000a0800 udp udp6 arp tcp
local xdp = require "xdp"

local function count(pkt, least)
  local sum = 0
  for _ = 1, ((pkt:getint8(8) > least) and 20 or 10) do
    local unused = pkt:getint32(8)
    sum = sum + 1
  end
  return sum
end

xdp.attach(function(pkt)
  for _ = 1, ((pkt.udp and pkt.udp.sport or 0) & 3) do
    local unused = pkt:getint64(7)
    goto done
  end
  ::done::
  print(count(pkt, 0))
end)
