-- What is put in front of packets at XDP is read there again, whatever is done with the packet in between; at tc a packet that was not at XDP has nothing.
-- frames: udp tcp arp udp6
local xdp = require "xdp"

xdp.attach(function(pkt)
  print("at first", pkt.meta)
  local n = pkt:getuint16(0) * 0x123456789abc + #pkt
  pkt.meta = n
  print(pkt.meta == n, pkt.meta, pkt:getuint16(0), pkt.ip and pkt.ip.ttl)
  pkt.meta = -1
  pkt:grow(4, "head")
  print(pkt.meta, #pkt)
  pkt:shrink(4, "head")
  if pkt.ip then pkt.ip.ttl = 9 end
  print(pkt.meta, pkt.ip and pkt.ip.src, pkt.udp and pkt.udp.dport)
  if pkt.tcp then pkt.meta = pkt.tcp.dport end
  print(pcall(function() pkt.meta = "text" end))
  print(pcall(function() pkt.meta = 1.5 end))
  print(pcall(function() pkt.meta = nil end))
end)

xdp.attach(function(pkt)
  print("then", pkt.meta)
end)
