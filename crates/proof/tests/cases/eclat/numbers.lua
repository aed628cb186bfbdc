-- Chains of eCLAT, called with numbers of the packet.
-- frames: udp tcp arp icmp udp6 tcp6 udp*3 dns tls vlan-tcp
local xdp, eclat = require "xdp", require "eclat"
local chains = {}
for _, name in ipairs{"widths", "comparisons", "sum", "packet"} do chains[name] = eclat.chain("numbers.eclat", name) end
local widths, comparisons, sum, packet = chains.widths, chains.comparisons, chains.sum, chains.packet

xdp.attach(function(pkt)
  local n = #pkt
  local last = pkt:getuint8(n - 1) - 128
  print(widths(pkt, n), widths(pkt, -n), widths(pkt, last * 0x12345679), widths(pkt, math.mininteger + last))
  print(comparisons(pkt, last, n), comparisons(pkt, -n, last), comparisons(pkt, n, n), comparisons(pkt, 0, 0))
  print(sum(pkt, 0, n), sum(pkt, last, n * 2))
  if pkt.arp then return end
  print(packet(pkt, 14), packet(pkt, 30), packet(pkt, n - 12))
  print(pkt:getstring(14, 24))
  print(packet(pkt, pkt.udp and n - 11 or -1))
end)
