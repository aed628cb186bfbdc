-- Counters by address, by port, by protocol: additions in all the ways that people write them.
-- frames: all tcp udp tcp udp6 tcp icmp6 all
local xdp = require "xdp"
local sources, ports, bytes, protocols, turns = {}, {}, {}, { [6] = 100, [17] = 200 }, {}
xdp.attach(function(pkt)
  if not pkt.ip then return end
  local source = pkt.ip.src
  sources[source] = (sources[source] or 0) + 1
  local proto = pkt.ip.proto
  bytes[proto] = (bytes[proto] or 0) + #pkt
  if protocols[proto] then protocols[proto] = protocols[proto] + 1 end
  local l4 = pkt.tcp or pkt.udp
  if l4 then
    local n = ports[l4.dport]
    if not n then n = 0 end
    ports[l4.dport] = n + 1
    print(ports[l4.dport], ports[l4.sport])
  end
  for i = 1, 3 do turns[i] = (turns[i] or 10) - i end
  print(sources[source], bytes[proto], protocols[proto], turns[1], turns[3], turns[4])
end)
