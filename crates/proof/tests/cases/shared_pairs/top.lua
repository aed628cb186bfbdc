-- The host with most bytes, found in the map by the handler itself.
-- frames: all tcp*3 udp6*4 tls all
local xdp = require "xdp"
local hosts = {}
xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then return end
  local host = hosts[ip.src]
  if host then
    host.pkts, host.bytes = host.pkts + 1, host.bytes + #pkt
  else
    hosts[ip.src] = { pkts = 1, bytes = #pkt, port = pkt.udp and pkt.udp.sport }
  end
  local talker, most, all, ports = nil, -1, 0, 0
  for address, host in pairs(hosts) do
    all = all + host.pkts
    ports = ports + (host.port or 0)
    if host.bytes > most or host.bytes == most and address < talker then
      talker, most = address, host.bytes
    end
  end
  print(talker, most, all, ports)
  if most > 2000 then return 1 end
end)
