-- Records of all sections, and every beginning of a message with them.
-- frames: all dns-answers truncated:dns-answers truncated:dns6 vxlan-dns long:dns-answers dns-answers long:dns6
local xdp = require "xdp"

local function show(kind, records)
  local count = 0
  for record in records do
    count = count + 1
    print(kind, count, record.name, record.type, record.class, record.ttl, record.address, record.target, record.preference, record.data)
  end
  print(kind, count)
end

xdp.attach(function(pkt)
  local dns = pkt.dns
  if not dns then return end
  show("answer", dns:answers())
  show("authority", dns:authorities())
  show("additional", dns:additionals())
end)
