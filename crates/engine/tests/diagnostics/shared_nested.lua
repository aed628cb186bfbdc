local xdp = require "xdp"
local seen = {}
xdp.attach(function(pkt)
  local ip, l4 = pkt.ip, pkt.tcp or pkt.udp
  if not l4 then return end
  local src = ip.src
  seen[src] = seen[src] or {}
  seen[src][l4.dport] = (seen[src][l4.dport] or 0) + 1
end)
