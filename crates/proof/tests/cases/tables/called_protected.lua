-- Tables that are called through `pcall`.
-- frames: udp tcp arp
local xdp = require "xdp"

local limit = setmetatable({most = 60}, {__call = function(self, length, ...)
  if length > self.most then return true, select("#", ...), ... end
  return false
end})
local fails = setmetatable({}, {__call = function(_, pkt) error("no " .. #pkt) end})

xdp.attach(function(pkt)
  print(pcall(limit, #pkt, 5))
  print(pcall(fails, pkt))
  print(pcall(setmetatable({}, {}), pkt))
end)
