-- The queue that a packet asks for has 16 bits: what does not fit changes nothing.
-- frames: udp tcp/60
local tc = require "tc"

for _, hook in ipairs { tc.ingress, tc.egress } do
  hook(function(pkt)
    for _, queue in ipairs { 7, 65534, 65535, 65536, 3, 65543, 4294967295 } do
      pkt.queue = queue
      print(queue, pkt.queue)
    end
    pkt.queue = #pkt << 12
    print(pkt.queue)
  end)
end
