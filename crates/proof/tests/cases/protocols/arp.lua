-- Every field of `pkt.arp` on frames of every kind, on every prefix of one, and where it is not for IPv4 over Ethernet.
-- frames: all
-- frames: truncated:arp truncated:vlan-arp
-- frames: hex:ffffffffffff0200000000010806000108000604000102000000000ac0000201000000000000c0000202
-- frames: hex:ffffffffffff0200000000010806000608000604000102000000000ac0000201000000000000c0000202
-- frames: hex:ffffffffffff0200000000010806000108000804000102000000000ac0000201000000000000c0000202
local xdp = require "xdp"
xdp.attach(function(pkt)
  local arp = pkt.arp
  if not arp then
    print("none", pkt.ip ~= nil)
    return 1
  end
  print(arp.op, arp.sender_mac, arp.sender, arp.target_mac, arp.target)
end)
