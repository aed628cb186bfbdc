-- What `string.format` complains of.
-- frames: udp:0 udp:1 udp:2 udp:3 tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local which = pkt.payload or "x"
  local v = which ~= "1" and 7 or nil
  if which == "0" then error(string.format("bad %d of %s", #which, which)) end
  print(string.format("%d", v))
  if which == "2" then print(("%s"):format(v), ("%5s|"):format(which)) end
end)
