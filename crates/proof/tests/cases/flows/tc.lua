-- The same table at two hooks of the network stack, called by a handler of the script's, with words by MAC addresses and VLAN.
-- frames: udp tcp arp udp6 tcp6 icmp vlan-tcp vlan-udp6 qinq-tcp
local tc = require "tc"
local flow = require "flow"
local seen = map{key = "string:20", value = "int"}
local flows = flow.new{key = {"smac", "dmac"}, capacity = 8, name = "by_mac"}
local vlans = flow.new{key = {"vlan"}}

local macs = {}
for number = 0, 3 do
  vlans:set(number * 7, function(pkt) print("vlan", pkt.vlan.id) return 2 end)
end
vlans:set("100", function(pkt) print("vlan 100") seen.hundred = 1 end)
flows:set({smac = "02:00:00:00:00:01", dmac = "02:00:00:00:00:02"}, function(pkt)
  print("between", pkt.eth.src)
  return -1
end)

tc.ingress(function(pkt, arg)
  if pkt.vlan then return vlans(pkt, arg) end
  print("no vlan", pkt.eth.src, pkt.eth.dst)
  return flows(pkt, arg)
end)
tc.egress(flows)
tc.egress(function(pkt) print("next") end)
