local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = 0
  local f = function() return n end
  if #pkt > 60 then pkt:getbyte(1) end
  n = 5
  return f()
end)
