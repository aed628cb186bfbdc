local xdp = require "xdp"

xdp.attach(function(pkt)
  local action = require "linux.xdp"
  return action.DROP
end)
