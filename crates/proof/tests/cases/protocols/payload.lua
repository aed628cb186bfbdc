-- The payload, on frames of every kind and on every prefix of three.
-- frames: all
-- frames: truncated:tcp truncated:udp-padded truncated:icmp6-extensions
local xdp = require "xdp"
xdp.attach(function(pkt)
  local payload = pkt.payload
  if not payload then return 1 end
  print(#payload, payload == "", payload)
end)
