-- Counts frames by source address, IPv4 or IPv6, in a table that all processors and user space share.
local xdp = require "xdp"
local action = require "linux.xdp"

local hits = {}

xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then
    return action.PASS
  end
  local src = ip.src
  hits[src] = (hits[src] or 0) + 1
  return action.DROP
end)
