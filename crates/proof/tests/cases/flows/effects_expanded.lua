-- What a handler has read before it calls a flow table is what it was; what it reads afterwards is what the flow's function has made of it:
-- the packet, a table's values, variables, sums, in expanded code.
-- frames: udp tcp arp icmp udp6 tcp6 udp*3 dns tls vlan-tcp udp-options fragment
local xdp = require "xdp"
local flow = require "flow"

total, last = 0, 0
local seen = map{key = "int", value = "int", capacity = 1000}

local flows = flow.new{capacity = 100, key = {"proto"}}
local function change(pkt)
  seen[7] = (seen[7] or 0) + 1
  seen[8] = nil
  seen[9] = 50
  total, last = total + 1, #pkt
  print("changed", #pkt, pkt.ip.src)
end
for _, proto in ipairs{"udp", "tcp", "icmp"} do flows:set({proto = proto}, change) end

xdp.attach(function(pkt)
  seen[8] = 3
  seen[9] = 1
  local missing, known, sum = seen[7], seen[8], seen[9]
  local then_total, then_last = total, last
  total = total + 5
  local verdict = flows(pkt)
  print(missing, known, sum, then_total, then_last, total, last)
  print(seen[7], seen[8], seen[9])
  seen[7] = (missing or 0) + 1000
  seen[9] = sum + 2
  if not seen[8] then seen[8] = 6 end
  print(seen[7], seen[8], seen[9])
  total = then_total + 2
  return verdict
end)
xdp.attach(function(pkt)
  print("next", seen[7], seen[8], seen[9], total, last)
end)
