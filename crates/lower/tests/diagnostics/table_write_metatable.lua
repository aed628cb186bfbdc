local xdp = require "xdp"

local Filter = {}
Filter.__index = Filter
local filter = setmetatable({ count = 0 }, Filter)
function Filter:see() self.count = self.count + 1 end
xdp.attach(function(pkt)
  filter:see()
end)
