-- A variable and a table that functions of flows alone use.
-- frames: udp tcp udp6 tcp6 icmp udp*3 dns arp
local xdp = require "xdp"
local flow = require "flow"

total = 0
local seen = map{key = "int", value = "int"}
local flows = flow.new{key = {"proto"}, capacity = 10}
flows:set({proto = "udp"}, "function(pkt) total = total + #pkt print(total) end")
flows:set({proto = "tcp"}, function(pkt)
  seen[1] = (seen[1] or total) + 1
  print(seen[1], total)
  total = total + 1000
end)

xdp.attach(flows)
