-- Calls a method of a class's base, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

local base = {}
base.__index = base

function base:add(by)
  self.sum = self.sum + by
end

local middle = setmetatable({}, base)
middle.__index = middle
local counter = setmetatable({}, middle)
counter.__index = counter

xdp.attach(function(pkt)
  local count = setmetatable({ sum = 0 }, counter)
  local by = pkt:getuint8(37)
  for _ = 1, 101 do
    count:add(by)
  end
  local sum = count.sum
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
