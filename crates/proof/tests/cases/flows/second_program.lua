-- Handlers at several hooks, of which the first does not call the table: its functions have programs with other numbers.
-- frames: udp tcp arp icmp udp6 tcp6
local xdp, tc = require "xdp", require "tc"
local flow = require "flow"
local seen = map{key = "int", value = "int"}
local other = map{key = "int", value = "int"}
local flows = flow.new{key = {"proto"}, capacity = 10}
flows:set("udp", function(pkt) seen[1] = (seen[1] or 0) + 1 print(seen[1], other[1]) end)
flows:set("tcp", function(pkt) seen[2] = #pkt other[2] = seen[1] or 0 error("no TCP " .. #pkt) end)
flows:set("icmp", function(pkt) return redirect(77777) end)

xdp.attach(function(pkt) other[1] = #pkt return 2 end)
tc.ingress(function(pkt) other[3] = flows(pkt) or 7 print(other[2], other[3]) end)
tc.ingress(flows)
tc.egress(flows)
tc.egress(function(pkt) print("next") end)
