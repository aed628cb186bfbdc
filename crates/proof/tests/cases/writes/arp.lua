-- An ARP request becomes its own reply.
-- frames: arp vlan-arp udp arp/30
-- frames: hex:ffffffffffff0200000000010806000108000604000102000000000ac0000201000000000000c0000202
local xdp = require "xdp"
local action = require "linux.xdp"

local here = "02:00:00:00:00:99"

xdp.attach(function(pkt)
  local arp = pkt.arp
  if not arp then return end
  local asked = arp.target
  arp.op = 2
  arp.target_mac, arp.target = arp.sender_mac, arp.sender
  arp.sender_mac, arp.sender = here, asked
  pkt.eth.dst, pkt.eth.src = pkt.eth.src, here
  print(arp.op, arp.sender_mac, arp.sender, arp.target_mac, arp.target)
  print(pcall(function() arp.sender = "2001:db8::1" end))
  return action.TX
end)
