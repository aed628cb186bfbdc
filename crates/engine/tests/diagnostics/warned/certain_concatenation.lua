local xdp = require "xdp"

local name
xdp.attach(function(pkt)
  print("filter " .. name .. ": " .. #pkt)
end)
