local xdp = require "xdp"

local session = {}
xdp.attach(function(pkt)
  setmetatable(session, nil)
end)
