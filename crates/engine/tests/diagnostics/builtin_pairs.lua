local xdp = require "xdp"

local ports = { 22, 80, 443 }
xdp.attach(function(pkt)
  for _, port in pairs(ports) do
    if pkt.tcp and pkt.tcp.dport == port then return 1 end
  end
end)
