-- Lets the first 100 ICMP echo requests pass, of IPv4 and IPv6 together, and drops all later ones.
local xdp = require "xdp"
local action = require "linux.xdp"

local limit <const> = 100
local echo_request <const> = { [4] = 8, [6] = 128 }

local seen = 0

xdp.attach(function(pkt)
  local icmp = pkt.icmp
  if not icmp or icmp.type ~= echo_request[pkt.ip.version] then
    return action.PASS
  end
  seen = seen + 1
  if seen > limit then
    return action.DROP
  end
  return action.PASS
end)
