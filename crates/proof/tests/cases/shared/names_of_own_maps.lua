-- Tables that are called as maps of the compiler's own are.
-- frames: udp tcp udp6 arp
local xdp = require "xdp"

taken, state, region, events, counters, verdicts, ports, interfaces, clock = {}, {}, {}, {}, {}, {}, {}, {}, {}
seen = 0

xdp.attach(function(pkt)
  seen = seen + 1
  local key = pkt.ip and pkt.ip.proto or 0
  for _, t in ipairs { taken, state, region, events, counters, verdicts, ports, interfaces, clock } do
    t[key] = (t[key] or 0) + seen
  end
  print(taken[key], state[key], region[key])
  print(events[key], counters[key], verdicts[key])
  print(ports[key], interfaces[key], clock[key])
  if seen == 3 then error("x" .. key) end
end)
