-- What `route` and `redirect` do not take, where the call has no name.
-- frames: udp tcp arp
local xdp, tc = require "xdp", require "tc"

local function handler(pkt, arg)
  for _, wrong in ipairs { 5, "eth0", arg, pkt.eth, {} } do
    print(select(2, pcall(route, wrong)))
  end
  print(select(2, pcall(route)), pcall(route, pkt))
  print(select(2, pcall(redirect, {})), select(2, pcall(redirect, -1)), select(2, pcall(redirect)))
end

xdp.attach(handler)
tc.ingress(handler)
tc.egress(handler)
