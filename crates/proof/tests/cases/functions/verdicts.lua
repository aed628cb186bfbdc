-- What a handler may return.
-- frames: hex:0000000000000000000000000000 hex:0100000000000000000000000000 hex:0200000000000000000000000000
-- frames: hex:0300000000000000000000000000 hex:0400000000000000000000000000 hex:0500000000000000000000000000
-- frames: hex:0600000000000000000000000000 hex:0700000000000000000000000000 hex:0800000000000000000000000000
-- frames: hex:0900000000000000000000000000 hex:ff00000000000000000000000000
local xdp = require "xdp"
local t = {}
xdp.attach(function(pkt)
  local n = pkt:getint8(0)
  if n == 6 then return true end
  if n == 7 then return nil end
  if n == 8 then return end
  if n == 9 then return "1" end
  return n, "further results are ignored"
end)
