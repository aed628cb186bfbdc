-- Each way to a loop has proved the frame's length by a comparison of its own; the loop looks for a header and reads what both have proved.
-- frames: icmp icmp-reply tcp udp short arp icmp/30
local xdp = require "xdp"

xdp.attach(function(pkt)
  local first
  if #pkt % 2 == 0 then
    first = pkt:getint64(2)
  else
    first = pkt:getint64(3)
  end
  local turns, sum = 0, first
  while turns < 7 do
    turns = turns + 1
    sum = sum ~ (pkt:getint64(2) + turns)
    if pkt.icmp == nil then
      break
    end
  end
  print(turns, sum)
end)
