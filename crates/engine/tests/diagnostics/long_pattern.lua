local xdp = require "xdp"
local fields = ("%d+ "):rep(5000)

xdp.attach(function(pkt)
  local payload = pkt.payload
  if payload and payload:match(fields) then return 1 end
end)
