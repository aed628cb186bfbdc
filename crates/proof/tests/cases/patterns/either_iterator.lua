-- The iterator of a loop over matches was made on one of several paths.
-- frames: udp:one\stwo,three tcp:a,b\sc icmp
local xdp = require "xdp"

local function words(pkt, text)
  if pkt.udp then return text:gmatch("%a+") end
  return text:gmatch("[^,]+")
end

xdp.attach(function(pkt)
  for word in words(pkt, pkt.payload or "none, at all") do print(word) end
end)
