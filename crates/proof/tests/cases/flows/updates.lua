-- Datagrams for a port of updates that are none are counted and dropped, others go on: by ports, sources and addresses. (What is sent on to
-- control code depends on the time; tests/e2e/updates.sh has that.)
-- frames: udp tcp arp icmp udp6 udp/30 later-fragment vlan-tcp vlan-udp6 udp-options udp6-extensions fragment dns6 udp:short udp-53-5000:other udp: udp-5000-7:here udp-5000-8:there
-- frames: udp:XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX
-- frames: udp:MHUXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX
local xdp = require "xdp"
local flow, updates = require "flow", require "updates"

local flows = flow.new{key = "dport", capacity = 100, default = function(pkt) print("default", #pkt, pkt.ip and pkt.ip.src, pkt.ip and pkt.ip.dst, pkt.udp and pkt.udp.dport) end}
flows:set(7, function(pkt) print("function", #pkt.payload) return 1 end)
xdp.attach(flows)

-- The key of the first test of RFC 8032, section 7.1.
local key = [[-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
]]
-- Not where packets cannot be dropped: for rules and sockets.
local listens = pcall(updates.listen, {port = 53, keys = {key}, hook = xdp, sources = {"10.0.0.0/8", "192.0.2.0/25", "2001:db8::/48"},
  addresses = {"198.51.100.0/24", "2001:db8:2::/48"}})
print(listens)
