-- Headers and fields by names that stand only in tables of load time.
-- frames: udp tcp icmp tls arp udp6 syn
local xdp = require "xdp"
local rules = {
  { "tcp", "dport", 443 }, { "udp", "length", 18 }, { "ip", "ttl", 64 }, { "icmp", "type", 8 }, { "eth", "type", 0x0806 },
}
local shown = { { "tcp", "sport", "window", "syn" }, { "udp", "checksum" }, { "ip", "id", "proto", "src" } }
xdp.attach(function(pkt)
  local matched = 0
  for i, rule in ipairs(rules) do
    local header = pkt[rule[1]]
    if header and header[rule[2]] == rule[3] then matched = matched + i end
  end
  for _, fields in ipairs(shown) do
    local header = pkt[fields[1]]
    for i = 2, header and #fields or 0 do print(fields[i], header[fields[i]]) end
  end
  print(matched)
end)
