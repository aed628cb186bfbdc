local xdp = require "xdp"

xdp.attach(function(pkt)
  local step = coroutine.wrap(function() coroutine.yield(1) end)
  return step()
end)
