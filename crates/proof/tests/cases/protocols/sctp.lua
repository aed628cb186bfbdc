-- Every field of `pkt.sctp` on frames of every kind, and on every prefix of some.
-- frames: all truncated:sctp truncated:sctp6
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.sctp
  if not header then
    print "none"
    return 1
  end
  print(header.sport, header.dport, header.vtag, header.checksum)
end)
