-- Keys that a function of the script makes: integers and addresses of both families, one to four of them, and none.
-- frames: udp tcp arp udp6 tcp6 icmp udp/30 udp*2 vlan-tcp
local xdp = require "xdp"
local flow = require "flow"

local seen = map{key = "int", value = "int"}

local flows = flow.new{
  key = function(pkt)
    local ip = pkt.ip
    if not ip then return nil end
    if pkt.tcp then return ip.src, pkt.tcp.dport end
    if pkt.udp then return #pkt, ip.dst, ip.ttl, 7 end
    return ip.proto
  end,
  default = function(pkt) print("none", #pkt) end,
}

for length = 40, 120 do
  flows:set({length, "192.0.2.1", 64, 7}, function(pkt) print("udp", #pkt) return 1 end)
  flows:set({length, "192.0.2.2", 64, 7}, function(pkt) print("udp to 2", #pkt) seen[1] = 2 return 1 end)
end
flows:set(1, function(pkt) print("icmp", pkt.icmp and pkt.icmp.type) seen[3] = (seen[3] or 0) + 1 end)
flows:set({"192.0.2.1", 80}, "return function(pkt) print('tcp', pkt.tcp.dport) return 2 end")
assert(flows:get(1) and not flows:get(2) and flows:delete({40, "192.0.2.1", 64, 7}))
assert(not flows:delete(5))
local count = 0
for key in flows:pairs() do count = count + 1 end
assert(count == 163)
xdp.attach(flows)
