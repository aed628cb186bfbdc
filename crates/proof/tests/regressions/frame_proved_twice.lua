-- In a loop that looks for a header the frame is as long as was proved before it, also where that proof starts from an address inside of the frame.
-- frames: tcp udp tcp6
local xdp = require "xdp"
xdp.attach(function(pkt)
  pkt:getbyte(11)
  local i = ("a"):find(0)
  pkt:setint16((""):byte(i) or 12, 0)
  local turns = 0
  while turns < 3 do
    turns = turns + 1
    print(pkt.ip and pkt.ip.ttl, pkt.tcp and pkt.tcp.dport)
  end
end)
