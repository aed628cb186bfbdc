local xdp = require "xdp"

local seen = {}
xdp.attach(function(pkt)
  local ip = pkt.ip
  if ip then seen[ip.src] = true end
  seen[#pkt] = 1
end)
