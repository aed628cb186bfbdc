-- Lets the processes of one service answer their clients and ask the servers that they need, and nobody else, whatever sockets they
-- open and whatever runs in the same network namespace. What was refused is counted by where it was to go.
local cgroup = require "cgroup"
local action = require "linux.cgroup"

local SERVICE = "system.slice/shop.service"
local OWN_PORT = 443
local servers = {
  ["192.0.2.2"] = { [5432] = "database", [53] = "names" },
  ["2001:db8::2"] = { [53] = "names" },
}
local refused = map { key = "ip", value = "int", capacity = 1024, evict = "lru" }

cgroup.egress(SERVICE, function(pkt)
  local transport = pkt.tcp or pkt.udp
  -- Of ICMP the processes send pings only: neighbours and the MTU of paths are the kernel's own business.
  if not transport then
    return pkt.icmp and action.PASS or action.DROP
  end
  if pkt.tcp and transport.sport == OWN_PORT then
    return action.PASS
  end
  local ports = servers[pkt.ip.dst]
  if ports and ports[transport.dport] then
    return action.PASS
  end
  refused[pkt.ip.dst] = (refused[pkt.ip.dst] or 0) + 1
  return action.DROP
end)
