local xdp = require "xdp"

local Counter = {}
Counter.__add = function(a, b) return a.n + b end
local counter = setmetatable({ n = 3 }, Counter)
xdp.attach(function(pkt)
  if counter + #pkt > 100 then return 1 end
end)
