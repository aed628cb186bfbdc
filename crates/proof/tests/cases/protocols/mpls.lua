-- Every field of `pkt.mpls` on frames of every kind, and on every prefix of one.
-- frames: all truncated:mpls eth:x hex:02000000000a5254001234568848fffffeff hex:02000000000a5254001234568100000188470001234588471234
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.mpls
  if not header then
    print "none"
    return 1
  end
  print(header.label, header.tc, header.bottom, header.ttl)
end)
