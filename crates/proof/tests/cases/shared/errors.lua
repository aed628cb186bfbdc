-- What was assigned before an error stays.
-- frames: tcp udp arp tcp icmp udp
local xdp = require "xdp"
local counts, texts = {}, { ["for all"] = "" }
xdp.attach(function(pkt)
  counts[#pkt] = (counts[#pkt] or 0) + 1
  texts["length " .. #pkt] = "x" .. counts[#pkt]
  local key
  if pkt.icmp then key = #pkt elseif pkt.udp then key = "x" == "y" and 1 or nil end
  if counts[#pkt] > 1 then counts[key] = 5 end
  counts[1] = counts[#pkt + 1] + 1
end)
