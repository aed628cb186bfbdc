local xdp = require "xdp"
local function port(h) return h.dport end
xdp.attach(function(pkt)
  if pkt.tcp then if port(pkt.tcp) == 80 then return 1 end
  elseif port(pkt.udp) == 53 then return 1 end
end)
