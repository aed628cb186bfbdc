local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = string.format("%.1f", #pkt / 2)
  if #text > 3 then return 1 end
end)
