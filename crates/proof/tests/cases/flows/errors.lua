-- An error in the function of a flow is one of the frame: what called the table does not go on, and no other handler runs.
-- frames: udp tcp arp icmp udp6 tcp6 udp*3 dns tls vlan-tcp
local xdp = require "xdp"
local flow = require "flow"

local flows = flow.new{key = {"proto"}, capacity = 10}
flows:set("udp", function(pkt)
  print("udp", #pkt)
  if pkt.ip.version == 4 then error("no IPv4 here") end
end)
flows:set("tcp", "return function(pkt) print(pkt:getbyte(#pkt - 1)) return pkt:getuint32(#pkt - 2) end")
flows:set("icmp", function(pkt) return 77 end)

xdp.attach(function(pkt)
  print("before", #pkt)
  local verdict = flows(pkt)
  print("after", verdict)
  return verdict
end)
xdp.attach(flows)
xdp.attach(function(pkt) print("next") end)
