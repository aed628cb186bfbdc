-- Drops TLS connections to the servers named in blocklist.txt (one name a line), by the server name that
-- the client sends first. Works for IPv4 and IPv6.
--
-- Names are compared as DNS does: without regard to case, and to a dot at the end. What it cannot see passes: a ClientHello
-- that is split over segments or TLS records before the end of the name, one that carries no name or an encrypted one
-- (ECH), other ports than 443, and QUIC.
local xdp = require "xdp"
local action = require "linux.xdp"

local function plain(name)
  return (name:lower():gsub("%.$", ""))
end

local blocked = {}
for name in io.lines "blocklist.txt" do
  if name ~= "" and name:sub(1, 1) ~= "#" then
    blocked[plain(name)] = true
  end
end

xdp.attach(function(pkt)
  local tcp = pkt.tcp
  if not tcp or tcp.dport ~= 443 then
    return action.PASS
  end
  local tls = pkt.tls
  local name = tls and tls.sni
  if not name then
    return action.PASS
  end
  if name:byte(-1) == 46 then
    name = name:sub(1, -2)
  end
  if blocked[name:lower()] then
    return action.DROP
  end
  return action.PASS
end)
