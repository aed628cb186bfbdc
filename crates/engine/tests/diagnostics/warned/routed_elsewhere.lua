-- Packets can be routed where they are frames.
local netfilter = require "netfilter"
netfilter.register { pf = 2, hooknum = 1, hook = function(pkt)
  if pkt.tcp then print(pkt:route()) end
end }
