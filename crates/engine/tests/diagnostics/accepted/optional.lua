local xdp = require "xdp"
local function f(a, b) b = b or 1 return a + b end
xdp.attach(function(pkt) if f(#pkt) > 3 and f(1, 2) > 2 then return 1 end end)
