-- An entry's fields copied to another table and to another key: both places have fields of their own.
-- frames: tcp udp icmp tls tcp udp6 tcp
local xdp = require "xdp"
local flows, archive = {}, {}
xdp.attach(function(pkt)
  local ip = pkt.ip
  local e = flows[ip.proto]
  if e then
    archive[ip.proto] = { pkts = e.pkts, from = { port = e.from.port }, text = e.text }
    flows[100 + ip.proto] = { pkts = e.pkts + 1, from = { port = e.from.port }, text = e.text }
  else
    flows[ip.proto] = { pkts = 0, from = { port = #pkt }, text = ip.src }
  end
  local f = flows[ip.proto]
  f.pkts = f.pkts + 1
  f.from.port = f.from.port + 1
  local a, other = archive[ip.proto], flows[100 + ip.proto]
  print(f.pkts, f.from.port, a and a.pkts, a and a.from.port, a and a.text, other and other.pkts)
  if a then a.pkts = 100 end
end)
