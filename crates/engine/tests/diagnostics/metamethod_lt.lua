local xdp = require "xdp"

local Level = { __lt = function(a, b) return a.n < b.n end }
local low, high = setmetatable({ n = 1 }, Level), setmetatable({ n = 2 }, Level)
xdp.attach(function(pkt)
  if low < high then return 1 end
end)
