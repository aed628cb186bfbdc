-- Methods of sets and what is no such set.
-- frames: tcp udp icmp arp
local xdp = require "xdp"
local set = require "set"
local plain, labeled = set.new { "tcp" }, set.labeled { tcp = 3 }
xdp.attach(function(pkt)
  if pkt.tcp then return plain.has(labeled, "tcp") end
  if pkt.udp then
    labeled.match("tcp", "tcp")
  end
  if pkt.icmp then print(plain.has(plain, "tcp"), labeled.match(labeled, "x.tcp"), plain.match, labeled.has) end
  return 1
end)
