-- The second look at `pkt.ip` comes only where the first one found it.
local xdp = require "xdp"
xdp.attach(function(pkt)
  print(tostring(pkt.ip and pkt.ip.dst))
  print((pkt.ip and pkt.ip.src or "none"):match("[^.:]+"))
end)
