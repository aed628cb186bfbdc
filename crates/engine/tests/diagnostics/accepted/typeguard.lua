local xdp = require "xdp"
local function size(x) if type(x) == "string" then return #x elseif type(x) == "number" then return x + 1 end return 0 end
xdp.attach(function(pkt) if size(nil) + size("abc") + size(#pkt) + size(pkt.payload) > 100 then return 1 end end)
