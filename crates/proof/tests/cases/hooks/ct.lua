-- Connections are tracked by the kernel: packets of test runs belong to none.
-- frames: udp tcp arp udp6
local xdp, tc, netfilter = require "xdp", require "tc", require "netfilter"
local nf, ct = require "linux.nf", require "linux.ct"

local function look(pkt)
  local connection = pkt.ct
  print(connection, connection and connection.status & ct.status.ASSURED, pkt.ip and pkt.ip.src)
  print(pcall(function() return pkt.ct.state end))
  print(pcall(function() pkt.ct.mark = 7 end))
  if pkt.ct and pkt.ct.state == "new" and not pkt.ct.reply then pkt.ct.mark = pkt.ct.mark + 1 end
end

xdp.attach(look)
tc.ingress(look)
tc.egress(look)
netfilter.register { pf = nf.proto.INET, hooknum = nf.inet.LOCAL_OUT, priority = 1, hook = look }
