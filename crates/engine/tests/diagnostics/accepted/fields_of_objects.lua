-- An object of load time may have a metatable and fields that handlers change.
local xdp = require "xdp"

local Filter = {}
Filter.__index = Filter
local filter = setmetatable({ count = 0 }, Filter)
function Filter:see()
  self.count = self.count + 1
  return self.count
end
xdp.attach(function(pkt)
  print(filter:see())
end)
