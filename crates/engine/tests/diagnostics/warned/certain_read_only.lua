local xdp = require "xdp"

xdp.attach(function(pkt)
  local ip = pkt.ip
  if ip and ip.ttl > 1 then ip.proto = ip.proto - 1 end
end)
