local xdp = require "xdp"
local last = {}
xdp.attach(function(pkt)
  local bytes = {}
  for i = 1, pkt:getbyte(14) & 15 do bytes[i] = pkt:getbyte(i) end
  last[#pkt] = bytes
end)
