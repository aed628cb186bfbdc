-- Calls a method, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

local counter = {}
counter.__index = counter

function counter:add(by)
  self.sum = self.sum + by
end

xdp.attach(function(pkt)
  local count = setmetatable({ sum = 0 }, counter)
  for i = 1, 101 do
    count:add(pkt:getuint8(37))
  end
  local sum = count.sum
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
