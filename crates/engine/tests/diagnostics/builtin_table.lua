local xdp = require "xdp"

local seen = {}
xdp.attach(function(pkt)
  table.insert(seen, #pkt)
end)
