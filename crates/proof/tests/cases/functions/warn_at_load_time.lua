-- Warnings that load time has switched on are on at packet time.
-- frames: udp tcp
local xdp = require "xdp"
warn("@on")
xdp.attach(function(pkt)
  warn(pkt.udp and "datagram" or "segment")
  local w = warn
  w("of ", #pkt, " bytes")
end)
