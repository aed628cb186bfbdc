-- Every field of `pkt.quic` on frames of every kind, and on every prefix of one; other ports, forms and lengths.
-- frames: all truncated:quic udp-443-1:\xc0\xff\x00\x00\x1d\x00\x00 udp-1-443:\x40\x00\x00\x00\x01\x00\x00 udp-1-443:\x80\x00\x00\x00\x00\x00\x00 udp-1-444:\xc0\x00\x00\x00\x01\x00\x00
-- frames: udp-1-443:\xff\x00\x00\x00\x01\x14aaaaaaaaaaaaaaaaaaaa udp-1-443:\xff\x00\x00\x00\x01\x15aaaaaaaaaaaaaaaaaaaaaa udp-1-443:\xff\x00\x00\x00\x01\x02a udp-1-443:\xff\x00\x00\x00\x01\x00
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.quic
  if not header then
    print "none"
    return 1
  end
  print(header.version, header.dcid, #header.dcid)
end)
