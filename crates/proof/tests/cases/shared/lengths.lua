-- Strings that are too long for entries that are there already, and a table that is full.
-- frames: tcp udp icmp arp tcp udp tcp icmp
local xdp = require "xdp"
local names = map { key = "int", value = "string:5" }
local few = map { key = "int", value = "int", capacity = 2, ttl = 1000 }
names[1] = "abc"
xdp.attach(function(pkt)
  print(names[1])
  local n = pkt.tcp and 3 or pkt.udp and 5 or 6
  names[1] = ("abcdefgh"):sub(1, n)
  few[n] = (few[n] or 0) + 1
  print(few[3], few[5], few[6])
  few[9] = nil
end)
