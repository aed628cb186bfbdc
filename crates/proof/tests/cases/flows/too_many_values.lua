-- Keys that a function makes have four values at most; a text that control code takes is one as it is written.
-- frames: udp tcp udp*2
local xdp = require "xdp"
local flow = require "flow"

local flows = flow.new{
  key = function(pkt)
    if pkt.tcp then return 1, 2, 3, 4, pkt.tcp.dport end
    return #pkt & 1, 10, 20, 30
  end,
}
flows:set("0,10,20,30", function(pkt) print("even") return 0 end)
flows:set({1, 10, 20, 30}, function(pkt) print("odd") return 0 end)
assert(flows:get{0, 10, 20, 30} and flows:get("1, 10, 20, 30"))
local assigned, problem = pcall(function() flows[1] = print end)
assert(not assigned and problem:find("flows are set by", 1, true))
xdp.attach(function(pkt)
  local verdict = flows(pkt)
  print(verdict)
  return verdict
end)
