-- A constant position behind all constant strings, of a string whose length is not known.
-- frames: hex:0000000000000000000000000000 tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  print((""):sub(1, n - 1):byte(0xffff), ("some text"):sub(1, n - 50):byte(600))
  return (""):sub(1, n - 1):byte(0xffff) or 0
end)
