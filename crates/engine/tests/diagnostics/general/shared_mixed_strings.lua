local xdp = require "xdp"
local last = {}
xdp.attach(function(pkt)
  last[#pkt] = #pkt > 60 and pkt:getstring(0, 6) or 0
  last[0] = pcall(print, last[#pkt]) and 1 or "none"
end)
