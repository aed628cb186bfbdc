-- Every field of `pkt.eth` on frames of every kind, and on every prefix of one.
-- frames: all
-- frames: truncated:short
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.eth
  if not header then
    print "none"
    return 1
  end
  print(header.dst, header.src, header.type)
end)
