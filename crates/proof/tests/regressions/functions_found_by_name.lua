-- Functions whose names do not stand in what packets run, found in any way, beside a constructor that keeps what it makes.
-- frames: tcp udp short arp
local xdp = require "xdp"
local kept, Rule = {}, {}
Rule.__index = Rule
function Rule.create(kind) kept[#kept + 1] = setmetatable({ kind = kind }, Rule) end
function Rule:long(pkt) return #pkt > 60 end
function Rule:even(pkt) return #pkt & 1 == 0 end
function Rule:check(pkt) return self[self.kind](self, pkt) end
Rule.create("long") Rule.create("even")
local kinds, holder = { "long", "even" }, { list = { Rule, Rule }, by = { x = Rule } }

local function each(step, t, f) for k, v in step, t do f(k, v) end end
local function count(t)
  local n = 0
  for _, f in pairs(t) do if type(f) == "function" then n = n + 1 end end
  return n
end
local Derived = setmetatable({}, { __index = Rule })
Derived.__index = Derived
function Derived:run(name, pkt) return self[name](self, pkt) end
local derived = setmetatable({ kind = "even" }, Derived)

xdp.attach(function(pkt)
  for i, rule in ipairs(kept) do
    print(pcall(rule.check, rule, pkt))
    print(rule[kinds[i]](rule, pkt), getmetatable(rule)[kinds[i]](rule, pkt))
  end
  local name = #pkt > 20 and "lo" .. "ng" or "even"
  local made = setmetatable({ kind = name }, Rule)
  print(made[name](made, pkt), made:check(pkt), ({ Rule, Derived })[1][name](made, pkt))
  print(holder.list[2][name](made, pkt), holder.by.x[name](made, pkt), derived:run(name, pkt))
  print((pkt.tcp and Rule or Derived)[name](made, pkt), rawget(Rule, name)(made, pkt), count(Rule))
  local found = 0
  each(next, Rule, function(key, f) if key == name then found = found + (f(made, pkt) and 1 or 2) end end)
  print(found)
end)
