local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = 0 local g
  for i = 1, 3 do if g == nil then g = function() n = n + 1 end end g() end
  return n
end)
