local xdp = require "xdp"
local function f(a, b, ...) return a + b + select("#", ...) end
xdp.attach(function(pkt) if f(#pkt, 1, 2, 3) > 70 then return 1 end end)
