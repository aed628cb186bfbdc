-- Each path to a place leaves another function that assigns the same variable.
-- frames: udp tcp udp
local xdp = require "xdp"

xdp.attach(function(pkt)
  local n, f = pkt:getbyte(42), nil
  if pkt.udp then
    f = function(x) n = n + x end
  else
    f = function(x) n = n * x end
  end
  f(5)
  print(n)
end)
