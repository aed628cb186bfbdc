local xdp = require "xdp"
local sizes = {}
xdp.attach(function(pkt)
  sizes[pkt.ip.src] = { #pkt, pkt.ip.length }
end)
