-- A header that is not there is nil, and indexing it an error that names it.
-- frames: all
local xdp = require "xdp"
xdp.attach(function(pkt)
  if pkt.eth.type == 0x86dd then
    print(pkt.icmp.type)
  elseif pkt.vlan then
    local udp = pkt.udp
    print(udp.dport)
  else
    print(pkt.tcp.dport)
  end
end)
