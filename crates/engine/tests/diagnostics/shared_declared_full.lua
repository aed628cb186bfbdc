local xdp = require "xdp"
local ports = map{key = "int", value = "int", capacity = 2, evict = "lru"}
for i = 1, 5 do ports[i] = i end
xdp.attach(function(pkt)
  ports[#pkt] = (ports[#pkt] or 0) + 1
end)
