-- Calls a function, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

local function add(a, b)
  return a + b
end

xdp.attach(function(pkt)
  local sum, by = 0, pkt:getuint8(37)
  for _ = 1, 101 do
    sum = add(sum, by)
  end
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
