-- Variables that one function of load time has alone last as long as it does, also where handlers are general code; what two have is refused there.
-- frames: udp tcp udp6 tcp6 icmp udp*3 arp
local xdp = require "xdp"
local flow = require "flow"

local flows = flow.new{key = {"proto"}, capacity = 10}
flows:set("tcp", "local n = 5 return function(pkt) n = n + 1 print('text', n) return 2 end")
do
  local n, last = 0, nil
  local function count(by) n = n + by return n end
  flows:set("udp", function(pkt)
    print("function", count(#pkt), last)
    last = pkt.ip.src == "192.0.2.7"
    return 2
  end)
end

xdp.attach(function(pkt)
  print(pcall(math.floor, #pkt))
  return flows(pkt)
end)
