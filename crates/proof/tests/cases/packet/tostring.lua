-- The whole frame as a string.
-- frames: tcp udp arp short
local xdp = require "xdp"
xdp.attach(function(pkt)
  print(tostring(pkt))
  print(#tostring(pkt), tostring(pkt) == pkt:getstring(0), tostring(pkt):sub(13, 14) == "\8\0", type(pkt))
end)
