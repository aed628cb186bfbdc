-- 00112233445566778899aabbccdd = 2, 1 event
local xdp = require "xdp"
xdp.attach(function(pkt)
  print(#pkt, pkt.eth.src)
end)
