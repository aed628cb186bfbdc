-- A variable that another function captures on each path to a place is the same variable behind it.
-- frames: udp tcp udp
local xdp = require "xdp"

xdp.attach(function(pkt)
  local n = pkt:getbyte(42)
  if pkt.udp then
    local f = function() return n end
    print(f())
  else
    local g = function() return n end
    print(g())
  end
  print(n)
end)
