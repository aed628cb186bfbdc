local xdp = require "xdp"

xdp.attach(function(pkt)
  print("half: " .. #pkt / 2 .. " bytes")
end)
