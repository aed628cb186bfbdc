-- Every field of `pkt.vlan` on frames of every kind, and on every prefix of one.
-- frames: all
-- frames: truncated:qinq-tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.vlan
  if not header then
    print "none"
    return 1
  end
  print(header.id, header.priority, header.dei, header.type)
  print(header.inner_id)
end)
