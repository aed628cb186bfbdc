-- Beside a flow table, a list of objects that only functions of load time assign is no map: nobody who handles packets calls its class's function.
-- frames: udp tcp icmp
local xdp = require "xdp"
local flow = require "flow"

local kept = {}
local Class = {}
Class.__index = Class
function Class.add(v)
  local self = setmetatable({v = v}, Class)
  kept[#kept + 1] = self
  return self
end
function Class:test(x) return self.v ~ x end
Class.add(3)
Class.add(5)

local flows = flow.new{key = "proto"}
flows:set("tcp", function(pkt)
  print(kept[1]:test(#pkt))
  return 2
end)
xdp.attach(function(pkt)
  for i, object in ipairs(kept) do print(object:test(i)) end
  print(pcall(math.floor, #pkt))
  return flows(pkt)
end)
