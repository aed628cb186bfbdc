-- Tables with lifetimes that do not end here: entries and records as in tables without.
-- frames: tcp udp tcp icmp arp udp tcp
local xdp = require "xdp"
local counts = map { ttl = 3600, capacity = 3 }
local flows = map { key = "int", value = { n = "int", at = { b = "int" } }, ttl = 1000, capacity = 4 }
local names = map { key = "int", value = "string:4", ttl = 1000 }
counts[1], names[1] = 5, "one"
flows[0] = { n = 7 }
xdp.attach(function(pkt)
  local key = #pkt
  local flow = flows[key]
  if not flow then
    flow = { n = 1 }
    flows[key] = flow
  end
  flow.n = flow.n + 1
  local first = flows[0]
  if first then
    first.n = first.n + 1
    print(first.n, first.at)
  end
  print(flow.n, names[1], names[key])
  names[key] = "abcdefgh"
  return 1
end)
xdp.attach(function() end)
