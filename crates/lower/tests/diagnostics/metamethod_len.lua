local xdp = require "xdp"

local list = setmetatable({}, { __len = function() return 5 end })
xdp.attach(function(pkt)
  if #pkt > #list then return 1 end
end)
