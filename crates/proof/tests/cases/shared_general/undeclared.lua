-- Tables without declaration, whose types what is in them and what is seen of the handlers tell.
-- frames: tcp udp tcp udp6 syn tcp
local xdp = require "xdp"
local sizes, kinds, flows = { [0] = 0 }, { none = 0 }, {}
xdp.attach(function(pkt)
  flows[#pkt] = flows[#pkt] or { n = 0, from = pkt.eth.src }
  flows[#pkt].n = flows[#pkt].n + 1
  sizes[#pkt] = (sizes[#pkt] or 0) + 1
  for word in (pkt.payload or ""):gmatch("%a+") do kinds[word] = (kinds[word] or 0) + #word end
  print(sizes[#pkt], kinds.hello, kinds.none, flows[#pkt].n, flows[#pkt].from)
  print(pcall(type, pkt))
end)
