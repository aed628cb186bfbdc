-- What events cannot carry, and names that are none.
-- frames: tcp udp icmp arp tcp udp icmp arp tls
local xdp = require "xdp"
local count = 0
local rules <const> = { 1, 2 }
xdp.attach(function(pkt)
  count = count + 1
  event("count", count)
  local name
  if count == 6 then name = true elseif count ~= 2 then name = "name" end
  event(name, 1)
  local value = 1
  if count == 3 then value = pkt end
  if count == 4 then value = rules end
  if count == 5 then value = pkt.tcp end
  event("value", "first", value)
  local packet = "packet"
  if count == 7 then packet = pkt end
  event(packet)
  event("last", count)
end)
