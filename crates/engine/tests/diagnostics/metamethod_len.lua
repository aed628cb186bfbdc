local xdp = require "xdp"

local length = setmetatable({}, { __call = function() return 5 end })
local list = setmetatable({}, { __len = length })
xdp.attach(function(pkt)
  if #pkt > #list then return 1 end
end)
