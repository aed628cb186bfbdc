local xdp = require "xdp"

local seen = {}
xdp.attach(function(pkt)
  local ip = pkt.ip
  if ip then seen[ip.src] = #pkt else seen[pkt.eth.src] = "other" end
end)
