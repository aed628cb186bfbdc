-- Packets can become longer and shorter where the kernel lets them.
local tc, netfilter = require "tc", require "netfilter"
local function longer(pkt)
  if pkt.ip then pkt:grow(4) end
end
tc.ingress(longer)
netfilter.register { pf = 2, hooknum = 1, hook = function(pkt)
  pkt:push_vlan(5)
end }
