local xdp = require "xdp"

local check = setmetatable({}, { __call = math.ult })
xdp.attach(function(pkt)
  if check(#pkt) then return 1 end
end)
