-- Functions of flows by five-tuple, their errors, and what they print; other packets go to the default, and to the next handler.
-- frames: udp tcp arp udp6 tcp6 icmp udp/30 udp*3 tcp/60 dns tls
local flow = require "flow"

local seen = map{key = "int", value = "int"}

local flows = flow.new{key = "5tuple", capacity = 100, default = function(pkt, arg)
  print("default", #pkt, pkt.ip and pkt.ip.src, pkt.udp and pkt.udp.dport)
  seen[#pkt] = (seen[#pkt] or 0) + 1
end}

-- Every flow of the frames that has one of a few functions, by turns.
local functions = {
  function(pkt)
    print("first", pkt.ip.src, pkt.ip.ttl, #pkt.ip)
    seen[1] = (seen[1] or 0) + 1
    return VERDICT
  end,
  function(pkt)
    print("second", pkt.udp and pkt.udp.dport, pkt.tcp and pkt.tcp.dport, #pkt)
    seen[2] = (seen[2] or 0) + 1
  end,
  function(pkt)
    local n = pkt.udp and pkt.udp.dport
    error("no " .. tostring(n))
  end,
  function(pkt) return 12345 end,
}
