local xdp = require "xdp"
local nets = map { key = "ipv4", value = "int", lpm = true }
xdp.attach(function(pkt)
  for net in pairs(nets) do print(net) end
end)
