-- The place of TCP and UDP within the frame is compared with the frame's length, of which nothing is known behind a loop over headers, in
-- a loop of the script's own: that comparison is no proof that the place is small, and must not take the proof from the place.
-- frames: hex:0000000000000000000000000000 tcp udp
local xdp = require "xdp"
xdp.attach(function(pkt)
  for i = 0, 6, pkt:getint8(13) do
    if pkt.udp ~= nil then
      print(i, math.min("", pkt:getstring(0, 0)))
    end
  end
  for i = 1, 3 do
    local s = pkt:getstring(0, 0)
    if pkt.ip ~= nil then
      s = s .. s
    end
    if pkt.tcp == nil then
      print(i, s, math.ult(0, t and 1 or 0))
    end
  end
end)
