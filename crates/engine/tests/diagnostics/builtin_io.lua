local xdp = require "xdp"

xdp.attach(function(pkt)
  local file = io.open("blocklist.txt")
  if file then return 1 end
end)
