local xdp = require "xdp"

xdp.attach(function(pkt)
  if #pkt < 60 then error("short frame", #pkt) end
end)
