local xdp = require "xdp"

xdp.attach(function(pkt)
  local ip = pkt.ip
  if ip and ip.version == 6 then last_source = ip.src end
end)
