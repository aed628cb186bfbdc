local xdp = require "xdp"

local check = setmetatable({}, { __call = function(self, n) return n > 100 end })
xdp.attach(function(pkt)
  if check(#pkt) then return 1 end
end)
