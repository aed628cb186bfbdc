-- Every field of `pkt.ip` on frames of every kind, and on every prefix of one.
-- frames: all
-- frames: truncated:udp6-extensions
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.ip
  if not header then
    print "none"
    return 1
  end
  print(header.version, header.src, header.dst, header.tos, header.dscp, header.ecn)
  print(header.ttl, header.proto, header.length, header.header_length)
  print(header.id, header.dont_fragment, header.more_fragments, header.fragment_offset)
  print(header.flow, header.checksum)
end)
