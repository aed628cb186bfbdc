-- 00112233445566778899aabbccdd = 2, 1 event
-- 05112233445566778899aabbccdd = 1
local xdp = require "xdp"
local action = require "linux.xdp"
local sizes = { [5] = 1 }
xdp.attach(function(pkt)
  local size = sizes[pkt:getbyte(0)]
  return size + 0
end)
