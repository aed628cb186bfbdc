local xdp = require "xdp"

local function pick(n, ...t) return t[n] end
xdp.attach(function(pkt)
  return pick(#pkt, 1, 2)
end)
