local xdp = require "xdp"

xdp.attach(function(pkt)
  local payload = pkt.payload
  if payload and payload:match("Host: ([%w.]+") then return 1 end
end)
