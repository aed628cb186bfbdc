local xdp = require "xdp"
local function first(pkt) if pkt.tcp then return pkt.tcp.dport, 1 end end
local function use(a, b) return a + b end
xdp.attach(function(pkt)
  if use(first(pkt)) == 81 then return 1 end
end)
