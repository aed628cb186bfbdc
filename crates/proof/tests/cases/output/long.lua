-- A line that does not fit into an event record is cut, never wrong.
-- frames: udp:0123456789012345678901234567890123456789 tls tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local all = tostring(pkt)
  local twice = all .. all .. all .. all
  print(twice, "end")
  print(twice .. twice .. twice .. twice)
  print(#twice)
end)
