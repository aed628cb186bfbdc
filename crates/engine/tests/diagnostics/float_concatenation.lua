local xdp = require "xdp"

local VERSION = 1.5
xdp.attach(function(pkt)
  print("filter " .. VERSION .. " saw " .. #pkt)
end)
