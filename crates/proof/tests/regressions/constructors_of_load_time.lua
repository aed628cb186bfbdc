-- Functions that load time alone calls, beside methods that handlers call: they need no form at packet time.
-- frames: tcp udp short arp
local all, named, cache = {}, {}, {}
local Rule = setmetatable({}, { __call = function(class, least)
  local self = setmetatable({ least = least, kinds = {} }, class)
  all[#all + 1] = self
  named["r" .. least] = self
  cache[self] = cache[self] or { least }
  return self
end })
Rule.__index = Rule
Rule.registry = {}
function Rule:register(name) Rule.registry[name], self.name = self, name return self end
function Rule:match(pkt) return #pkt > self.least end
Rule(20):register("short")
Rule(60):register("long")

local List = { names = {} }
function List.add(name) List.names[name] = true end
function List.read(text) for name in text:gmatch("%S+") do List.add(name) end end
function List.has(name) return List.names[name] end
for i = 1, 70000 do List.add("host" .. i) end
List.read("a.example b.example")

local xdp = require "xdp"
xdp.attach(function(pkt)
  for i, rule in ipairs(all) do print(i, rule.name, pcall(rule.match, rule, pkt)) end
  local sum = 0
  for name, rule in pairs(named) do sum = sum + #name * rule.least end
  print(sum, Rule.registry.long:match(pkt), named["r" .. 20].name)
  print(List.has("a.example"), List.has("host" .. #pkt), List.has("host0"), string.pack("B", 65))
end)
