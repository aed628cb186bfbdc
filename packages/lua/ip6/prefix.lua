-- prefix(parts): the number that the list of prefixes has for the longest one of the packet's source address of IPv6 (parts 1) or of its
-- destination (2); 0 where it has none, and for packets that are none of IPv6. The list is the module `prefixes`, a file prefixes.lua in the
-- script's folder: return { ["2001:db8::/32"] = 7, ["fc00::1/128"] = 8 }
local prefixes = map { key = "ipv6", value = "int", capacity = 16384, lpm = true }
for prefix, number in pairs(require "prefixes") do
  prefixes[prefix] = number
end
local SOURCE <const>, DESTINATION <const> = 1, 2

return function(pkt, parts)
  local ip = pkt.ip
  if not ip or ip.version ~= 6 or parts ~= SOURCE and parts ~= DESTINATION then
    return 0
  end
  local address = ip.dst
  if parts == SOURCE then
    address = ip.src
  end
  return prefixes[address] or 0
end
