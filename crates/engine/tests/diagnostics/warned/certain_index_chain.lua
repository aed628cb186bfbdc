local xdp = require "xdp"

local a, b = {}, {}
setmetatable(a, { __index = b })
setmetatable(b, { __index = a })
xdp.attach(function(pkt)
  if #pkt > a.limit then return 1 end
end)
