-- Upvalues and globals that the handler assigns keep their values from frame to frame.
-- frames: tcp udp tcp icmp udp*5 arp tcp
local xdp = require "xdp"
local seen, bytes, last, flag = 0, 0, nil, false
count = 5
local name = "none"
xdp.attach(function(pkt)
  print(seen, bytes, last, flag, count, name, other)
  seen = seen + 1
  bytes = bytes + #pkt
  last = pkt.ip and pkt.ip.proto
  flag = not flag
  count = count - 1
  other = count < 0
  if pkt.tcp then name = "tcp" elseif pkt.udp then name = "udp" end
  if seen > 6 then return 1 end
end)
