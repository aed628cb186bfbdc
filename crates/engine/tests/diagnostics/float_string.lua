local xdp = require "xdp"

local config = { factor = "2.5" }
xdp.attach(function(pkt)
  if #pkt * config.factor > 1500 then return 1 end
end)
