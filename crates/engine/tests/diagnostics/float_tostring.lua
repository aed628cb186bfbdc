local xdp = require "xdp"

xdp.attach(function(pkt)
  local text = tostring(#pkt / 2)
  if text == "7.5" then return 1 end
end)
