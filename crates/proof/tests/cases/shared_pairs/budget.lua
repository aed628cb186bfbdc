-- A traversal spends steps: the budget ends it.
-- frames: tcp
local xdp = require "xdp"
local many = {}
for i = 1, 3000 do many[i] = i end
xdp.attach(function(pkt)
  local sum = 0
  for k in pairs(many) do
    for l, v in pairs(many) do sum = sum + v end
  end
  many[1] = sum
  print "not reached"
end)
