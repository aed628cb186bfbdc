-- A variable that a function captures on one way, that nothing reads on the other, and that is assigned where they have met.
-- frames: hex:0000000000000000000000000000 hex:0000000000000000000000000000000000000000000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local v = #pkt
  local g
  if v < 20 then
    g = print
  else
    g = function(x)
      return v + x
    end
  end
  v = 1
  print(g(2), v)
  local w = #pkt
  local h = w < 20 and 5 or function()
    w = w + 1
    return w
  end
  w = 7
  if h ~= 5 then
    print(h(), h(), w)
  end
end)
