-- Sends IPv4 UDP datagrams on to another address and port; the checksums of both headers follow.
local xdp = require "xdp"
local action = require "linux.xdp"

xdp.attach(function(pkt)
  local ip, udp = pkt.ip, pkt.udp
  if not udp or ip.version ~= 4 then
    return action.PASS
  end
  ip.ttl = 63
  ip.dst = "192.0.2.9"
  udp.dport = 8080
  return action.TX
end)
