-- Payloads that are assigned: longer ones and shorter ones.
-- frames: all truncated:udp truncated:tcp6 truncated:icmp6-extensions/90 vlan-tcp qinq-tls6
local xdp = require "xdp"

xdp.attach(function(pkt)
  local ip = pkt.ip
  if not (pkt.tcp or pkt.udp or pkt.icmp) or ip.more_fragments then return end
  local text = "an answer that is longer than most questions are"
  if pkt:getuint8(#pkt - 1) & 1 == 0 then text = "short" end
  pkt.payload = text
  local udp, tcp = pkt.udp, pkt.tcp
  print(#pkt, ip.length, udp and udp.length, udp and udp.checksum, tcp and tcp.checksum, pkt.payload)
  print(ip.checksum, pkt:checksum())
end)
