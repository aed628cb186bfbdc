local xdp = require "xdp"

local changes = {}
local filter = setmetatable({}, { __newindex = changes })
xdp.attach(function(pkt)
  filter.count = #pkt
end)
