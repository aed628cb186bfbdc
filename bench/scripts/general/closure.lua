-- Calls a closure, a hundred times.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local by, sum = pkt:getuint8(37), 0
  local function add()
    sum = sum + by
  end
  for _ = 1, 101 do
    add()
  end
  return (sum - pkt:getuint8(37)) % 2 == 0 and action.DROP or action.PASS
end)
