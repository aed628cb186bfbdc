-- Random program 44000047, made small: a string in an event was lost: a loop cleared a spill slot that its head had just written.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  local s37 = string.sub(("GET /index.html HTTP/1.1"), n)
  for m38, m39 in tostring(((""):match("a"))):gmatch(("W*")) do
    print(m38)
  end
end)
