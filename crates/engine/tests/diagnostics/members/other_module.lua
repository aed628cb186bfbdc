-- The verdicts are in a module of their own.
local xdp, tc, netfilter = require "xdp", require "tc", require "netfilter"
local helpers = {}
function helpers.verdict(pkt) return #pkt > 100 and xdp.DROP end
xdp.attach(function(pkt)
  if pkt.udp then return xdp.DROP end
  return helpers.verdict(pkt)
end)
tc.ingress(function() return tc.SHOT end)
netfilter.register { pf = 2, hooknum = 1, hook = function(pkt)
  local nf = netfilter
  if pkt.tcp then return nf.ACCEPT end
end }
