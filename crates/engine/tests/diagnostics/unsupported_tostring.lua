local xdp = require "xdp"

local config = {}
xdp.attach(function(pkt)
  print("config: " .. tostring(config))
end)
