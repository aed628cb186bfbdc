local xdp = require "xdp"
local nets = map{key = "ipv4", value = "int", lpm = true, capacity = 512}
nets["10.0.0.0/33"] = 1
xdp.attach(function(pkt)
  if pkt.ip and nets[pkt.ip.src] then return xdp.DROP end
end)
