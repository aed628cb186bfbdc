-- Every field of `pkt.gre` on frames of every kind, and on every prefix of some.
-- frames: all truncated:gre truncated:gre-key
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.gre
  if not header then
    print "none"
    return 1
  end
  print(header.type, header.checksum, header.key, header.seq)
end)
