local xdp = require "xdp"

local again
xdp.attach(function(pkt)
  local length = #pkt
  again = function() return length end
end)
