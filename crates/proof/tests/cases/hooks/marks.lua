-- What the kernel keeps beside a packet at netfilter, where it is in structures of the kernel; and handlers that are for packets with a mark, which
-- nobody has given these.
-- frames: udp tcp arp udp6
local netfilter, nf = require "netfilter", require "linux.nf"

local seen = {}

local function at(priority, mark, hook)
  local point = { pf = nf.proto.INET, hooknum = nf.inet.LOCAL_OUT, priority = priority, mark = mark, hook = hook }
  netfilter.register(point)
end

local function show(pkt)
  print(pkt.mark, pkt.priority, pkt.queue, pkt.ifindex, pkt.rxhash)
  local mark = pkt.mark
  seen[mark] = (seen[mark] or 0) + 1
  if pkt.udp then pkt.mark = 1 end
  if seen[mark] == 2 then return nf.action.DROP end
end

at(1, nil, show)
at(2, 0, show)
at(3, "any", show)
at(4, 7, function(pkt) print("marked", pkt.mark) return nf.action.DROP end)
at(5, 0xffffffff, function(pkt) print("all bits", pkt.mark) return nf.action.DROP end)
