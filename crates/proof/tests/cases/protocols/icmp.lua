-- Every field of `pkt.icmp` on frames of every kind, and on every prefix of one.
-- frames: all
-- frames: truncated:icmp6-extensions
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.icmp
  if not header then
    print "none"
    return 1
  end
  print(header.type, header.code, header.checksum, header.id)
  print(header.seq)
end)
