local xdp = require "xdp"
xdp.attach(function(pkt)
  local tcp = pkt.tcp
  local port = tcp and tcp.dport
  local sni = pkt.tls and pkt.tls.sni
  if port and port > 100 and (not sni or #sni > 3) then return 1 end
end)
