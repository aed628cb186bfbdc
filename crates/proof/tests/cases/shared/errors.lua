-- What was assigned before an error stays.
-- frames: tcp udp arp tcp icmp udp
local xdp = require "xdp"
local counts, texts = {}, { ["for all"] = "" }
xdp.attach(function(pkt)
  counts[#pkt] = (counts[#pkt] or 0) + 1
  texts["length " .. #pkt] = "x" .. counts[#pkt]
  if pkt.tcp then counts[pkt.udp] = 1 end
  if counts[#pkt] > 1 then counts[nothing] = 5 end
  counts[1] = counts[#pkt + 1] + 1
end)
