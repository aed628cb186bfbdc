-- Drops TLS connections to the servers named in blocklist.txt (one name a line), by the server name that
-- the client sends first. Works for IPv4 and IPv6.
local xdp = require "xdp"
local action = require "linux.xdp"

local blocked = {}
for name in io.lines "blocklist.txt" do
  if name ~= "" and name:sub(1, 1) ~= "#" then
    blocked[name] = true
  end
end

xdp.attach(function(pkt)
  local tcp = pkt.tcp
  if not tcp or tcp.dport ~= 443 then
    return action.PASS
  end
  local tls = pkt.tls
  if tls and tls.sni and blocked[tls.sni] then
    return action.DROP
  end
  return action.PASS
end)
