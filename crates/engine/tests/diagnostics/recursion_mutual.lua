local xdp = require "xdp"

local even
local function odd(n) return n ~= 0 and even(n - 1) end
function even(n) return n == 0 or odd(n - 1) end
xdp.attach(function(pkt)
  if even(#pkt) then return 1 end
end)
