-- Every field of `pkt.udp` on frames of every kind, and on every prefix of one.
-- frames: all
-- frames: truncated:udp6-extensions
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.udp
  if not header then
    print "none"
    return 1
  end
  print(header.sport, header.dport, header.length, header.checksum)
end)
