-- Verdicts are no global variables, unless the script makes some.
local xdp, tc = require "xdp", require "tc"
OK = 0
xdp.attach(function(pkt)
  if pkt.udp then return DROP end
  if limit then return PASS end
end)
tc.ingress(function(pkt)
  if pkt.arp then return SHOT end
  return OK
end)
