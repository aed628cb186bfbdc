local xdp = require "xdp"
local flows = {}
xdp.attach(function(pkt)
  flows[#pkt] = { n = 1 }
  for name, value in pairs(flows[#pkt]) do print(name, value) end
end)
