local xdp = require "xdp"
local function sum(...) local s = 0 for i = 1, select("#", ...) do s = s + (select(i, ...) or 0) end return s end
xdp.attach(function(pkt) if sum() + sum(1) + sum(1, nil, #pkt) > 3 then return 1 end end)
