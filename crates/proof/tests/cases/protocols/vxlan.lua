-- Every field of `pkt.vxlan` on frames of every kind, and on every prefix of one; other ports and flags.
-- frames: all truncated:vxlan udp-4789-4790:\x08\x00\x00\x00\x00\x00\x01\x00 udp-1-4789:\x00\x00\x00\x00\x00\x00\x01\x00 udp-1-4789:\xff\xff\xff\xff\xff\xff\xff\xff
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.vxlan
  if not header then
    print "none"
    return 1
  end
  print(header.vni)
end)
