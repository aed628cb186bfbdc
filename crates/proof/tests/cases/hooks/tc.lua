-- Handlers for tc alone: verdicts by both sets of names, none for a handler that returns nothing, wrong ones, and errors.
-- frames: udp tcp arp udp6 hex:f1f2f3f4f5f6f7f8000140c0ff3f417f8081 arp/15 tcp/60 tls
local tc = require "tc"
local action = require "linux.tc"
assert(action.NEXT == -1 and action.OK == action.PASS and action.SHOT == action.DROP and action.UNSPEC == action.NEXT)

local seen = 0

tc.ingress(function(pkt)
  seen = seen + 1
  print("first", seen, #pkt, pkt.ip and pkt.ip.src, pkt.udp and pkt.udp.dport)
  if seen % 7 == 3 then return action.DROP end
  if seen % 7 == 4 then return action.PASS end
  if seen % 7 == 5 then return 1 end
  if seen % 7 == 6 then return #pkt - 59 end
end)

tc.ingress(function(pkt)
  print("second", pkt:getuint8(0), #pkt > 299 and pkt:getuint8(299))
  if seen == 1 then pkt:setuint8(0, 7) return action.SHOT end
  if seen == 2 then local x = nil + seen end
end)
