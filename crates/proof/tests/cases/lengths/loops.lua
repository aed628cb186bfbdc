-- Lengths that change in loops and on some paths only, and names of ends that are not constant.
-- frames: udp tcp tcp-options icmp tls6 later-fragment
local xdp = require "xdp"

local ends = { "tail", "head", "middle" }

xdp.attach(function(pkt)
  for i = 1, pkt:getuint8(22) & 3 do
    pkt:grow(i)
    pkt:setuint8(#pkt - 1, i)
  end
  print(#pkt, pkt:getuint8(#pkt - 1), pkt.ip.ttl)
  while #pkt > 60 do pkt:shrink(3) end
  print(#pkt, pkt.ip and pkt.ip.dst, pkt.tcp and pkt.tcp.seq)
  local sum = 0
  for i = 14, #pkt - 1 do
    sum = sum + pkt:getuint8(i)
    if i == 30 then pkt:grow(1) end
  end
  print(sum, #pkt)
  if pkt.ip.proto == 17 then pkt:grow(2) elseif pkt.ip.proto == 6 then pkt:shrink(1) end
  print(#pkt, pkt:checksum(0, 20))
  local last = ends[(pkt:getuint8(23) & 3) + 1] or "tail"
  pkt:grow(4, last)
  print(#pkt, pkt:getuint32(0))
end)
