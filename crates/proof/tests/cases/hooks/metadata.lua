-- What the kernel keeps beside a packet: read at all hooks that have it, assigned where programs can change it, seen by the next handler.
-- frames: udp tcp arp udp6 arp/15
local xdp, tc = require "xdp", require "tc"

local counts = {}

xdp.attach(function(pkt)
  print(pkt.ifindex, pkt.mark, pkt.priority, pkt.queue, pkt.rxhash, pkt.timestamp, pkt.hwtimestamp)
  local queue = pkt.queue or 9
  counts[queue] = (counts[queue] or 0) + 1
  print(counts[queue])
end)

tc.ingress(function(pkt)
  local before = pkt.mark
  pkt.mark = before + #pkt
  pkt.priority = 0xffffffff
  print(before, pkt.mark, pkt.priority, pkt.ifindex, pkt.queue, pkt.rxhash)
  if pkt.ip then pkt.mark = pkt.mark << 8 | pkt.ip.proto pkt.ip.ttl = 9 end
  pkt.queue = 3
  print(pkt.timestamp, pkt.hwtimestamp)
  pkt.timestamp = (#pkt << 40) + 7
  print(pkt.timestamp)
  print(pkt.mark, pkt.mark == before, pkt.ip and pkt.ip.ttl)
  if #pkt == 15 then pkt.mark = 1 << 32 end
end)

tc.ingress(function(pkt)
  print(pkt.mark, pkt.priority, pkt.queue, pkt.timestamp)
  if pkt.arp then pkt.timestamp = -1 end
  counts[pkt.mark] = pkt.priority
  if pkt.udp then pkt.mark = nil end
  if pkt.tcp then pkt.priority = -1 end
  pkt.mark = "x"
end)
