-- Counts packets and bytes by source address, IPv4 or IPv6, in records that all processors and user space share.
local xdp = require "xdp"
local action = require "linux.xdp"

local flows = {}

xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then
    return action.PASS
  end
  local src = ip.src
  if not flows[src] then
    flows[src] = {pkts = 0, bytes = 0}
  end
  flows[src].pkts = flows[src].pkts + 1
  flows[src].bytes = flows[src].bytes + #pkt
  return action.DROP
end)
