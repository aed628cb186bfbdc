-- What handlers say of a packet that a rule asks about, or a socket could keep: booleans, numbers, nothing, and what is no answer; several
-- handlers, of which the first that does not pass decides.
-- frames: udp tcp arp udp6 icmp arp/15 tcp/60
local match, socket = require "match", require "socket"

match.attach("first", function(pkt)
  print(#pkt, pkt.eth, pkt.ip and pkt.ip.src, pkt.mark, pkt.queue, pkt.ifindex)
  if pkt.udp then return pkt.udp.dport > 1000 end
  if pkt.tcp then return 1 end
  if pkt.icmp then return 2 end
end)
match.attach("second", function(pkt) return pkt.tcp and true end)
match.attach("second", function(pkt)
  print("asked")
  if pkt.udp then pkt.ip.ttl = 1 end
  return pkt.icmp ~= nil
end)

local seen = {}
socket.filter(function(pkt)
  local kind = pkt.eth and pkt.eth.type or 0
  seen[kind] = (seen[kind] or 0) + 1
  print(#pkt, kind, seen[kind], pkt.arp and pkt.arp.op)
  if #pkt == 15 then return "all" end
  if pkt.arp then return false end
  return seen[kind] % 2
end)
socket.filter(function(pkt) return pkt.ip == nil end)
