-- `and`, `or`, `not` give operands, not booleans (manual § 3.4.5).
-- frames: tcp udp arp hex:00000000000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local zero, one = pkt:getuint8(0) == 0, pkt:getuint8(1) == 0
  print(zero and one, zero or one, not zero, not not zero, zero and 5 or 6, zero and nil, zero and false or one)
  print(nil or pkt:getuint8(2), false and pkt:getuint8(900), nil and 1, 0 and 2, "" or 3)
  local port = pkt.tcp and pkt.tcp.dport or pkt.udp and pkt.udp.dport or "none"
  print(port, port == "none", pkt.tcp and true, not pkt.tcp and "not tcp")
  local x = pkt.ip and pkt.ip.version
  print(x, x == 4 and "four" or x == 6 and "six" or "neither")
  if zero and one or pkt.udp and not zero then return 1 end
end)
