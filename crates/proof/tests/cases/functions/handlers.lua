-- Several handlers run in order; the first verdict but PASS ends it; each sees what earlier ones wrote.
-- frames: tcp udp icmp arp
local xdp = require "xdp"
local action = require "linux.xdp"
local n = 0
xdp.attach(function(pkt)
  n = n + 1
  print("first", n)
  pkt:setuint8(0, 77)
  if pkt.udp then return action.DROP end
end)
xdp.attach(function(pkt)
  print("second", n, pkt:getuint8(0))
  if pkt.icmp then error("no icmp") end
  return action.PASS
end)
xdp.attach(function(pkt)
  print("third", n)
  return action.TX
end)
