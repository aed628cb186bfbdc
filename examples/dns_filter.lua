-- Drops DNS questions for names under the domains listed in suffixes.txt (one a line), over IPv4 and IPv6, and counts them by name.
--
-- Names are compared as DNS does, without regard to case. What it cannot see passes: questions over TCP, TLS or HTTPS, at other ports than
-- 53 (and 5353, multicast DNS), and all questions of a message but the first, which is the only one in practice. While it runs,
-- `moonhook table dns_filter refused` shows the counts.
local xdp = require "xdp"
local action = require "linux.xdp"
local set = require "set"

local domains = {}
for line in io.lines "suffixes.txt" do
  if line ~= "" and line:sub(1, 1) ~= "#" then
    domains[line:lower()] = 1
  end
end
-- A set that is asked for a name and for all that follows one of its dots at once.
local listed = set.labeled(domains)

-- Names of more than 64 bytes are refused like others, and counted together.
local longest <const> = 64
local refused = map { key = "string:64", value = "int", capacity = 10000, evict = "lru" }

xdp.attach(function(pkt)
  local dns = pkt.dns
  local asked = dns and not dns.qr and dns.qname
  if not asked then
    return action.PASS
  end
  local name = asked:lower()
  if listed:match(name) == 0 then
    return action.PASS
  end
  local key = #name <= longest and name or "longer names"
  refused[key] = (refused[key] or 0) + 1
  return action.DROP
end)
