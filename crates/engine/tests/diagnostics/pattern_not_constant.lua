local xdp = require "xdp"

xdp.attach(function(pkt)
  local sni = pkt.tls and pkt.tls.sni
  if sni and pkt.payload:find(sni) then return 1 end
end)
