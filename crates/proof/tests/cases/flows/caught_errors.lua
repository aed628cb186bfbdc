-- An error in the function of a flow can be caught, and raised again: what catches it is told that there was one.
-- frames: udp tcp arp icmp udp6 tcp6 udp*3 dns tls vlan-tcp
local xdp = require "xdp"
local flow = require "flow"

local flows = flow.new{key = {"proto"}, capacity = 10}
flows:set("udp", function(pkt) error("no UDP here") end)
flows:set("tcp", function(pkt)
  if #pkt > 60 then error{} end
  return 0
end)
flows:set("icmp", function(pkt) return pkt.ip.src end)

xdp.attach(function(pkt)
  local done, verdict = pcall(flows, pkt)
  print(done, verdict)
  if pkt.ip.proto == 1 then return 0 end
  if not done and pkt.ip.version == 6 then error(verdict, 0) end
  local again = pcall(function() return flows(pkt) end)
  print("again", again)
  flows(pkt)
  print("after")
end)
xdp.attach(function(pkt) print("next") end)
