-- A string that is doubled in a loop: a number's text, and constant texts.
-- frames: tcp udp arp hex:00000000000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = tostring(pkt:getuint16(12))
  for i = 1, 8 do s = s .. s end
  print(#s, s)
  local known = pkt:getuint8(12) == 8 and "ab" or "c"
  for i = 1, 8 do known = known .. known end
  print(#known, known)
end)
