-- Handlers for several hooks in one script: tables, variables and functions are common, verdicts are each hook's own.
-- frames: udp tcp arp udp6 udp tcp icmp arp/15 tcp/60
local xdp, tc = require "xdp", require "tc"
local actions = { xdp = require "linux.xdp", tc = require "linux.tc" }

local counts = {}
local last = "none"
local total = 0

local function count(where, pkt)
  local key = pkt.ip and pkt.ip.proto or 0
  counts[key] = (counts[key] or 0) + 1
  total = total + 1
  print(where, key, counts[key], total, last)
  last = where
end

xdp.attach(function(pkt)
  count("xdp", pkt)
  if pkt.tcp then return actions.xdp.DROP end
end)

tc.egress(function(pkt)
  count("egress", pkt)
  if pkt.udp then return actions.tc.DROP end
  if pkt.icmp then error("no icmp") end
end)

xdp.attach(function(pkt)
  count("xdp again", pkt)
  if total % 5 == 0 then return 7 end
end)

tc.ingress(function(pkt)
  count("ingress", pkt)
  return #pkt > 20 and actions.tc.PASS or nil
end)
