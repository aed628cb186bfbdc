local xdp = require "xdp"

xdp.attach(function(pkt)
  local half = #pkt / 2
  if half > 700 then return 1 end
end)
