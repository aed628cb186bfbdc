-- A field that one of the headers of an unrolled loop does not have: an error for the packets that get there.
-- frames: tcp icmp udp arp
local xdp = require "xdp"
local rules = { { proto = "tcp", port = 443 }, { proto = "icmp" }, { proto = "udp", port = 53 } }
local wrong = { { "icmp", "dport" }, { "tcp", "dport" } }
xdp.attach(function(pkt)
  for _, rule in ipairs(rules) do
    local h = pkt[rule.proto]
    if h and (not rule.port or h.dport == rule.port) then print(rule.proto) end
  end
  for _, name in ipairs(wrong) do
    local h = pkt[name[1]]
    print(name[1], h and h[name[2]])
  end
  local h = pkt.tcp or pkt.udp
  print(h and h.window)
end)
