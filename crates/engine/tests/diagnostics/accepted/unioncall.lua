local xdp = require "xdp"
local function g(x) return x + 1 end
xdp.attach(function(pkt)
  local f
  if #pkt > 100 then f = g end
  if f(1) == 2 then return 1 end
end)
