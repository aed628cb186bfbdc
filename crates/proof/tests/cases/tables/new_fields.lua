-- Fields that tables of load time do not have then, assigned wherever such a table may come to.
-- frames: tcp udp tcp icmp udp6
local xdp = require "xdp"
local class = {}
class.__index = class
function class:count(n) self.n = (self.n or 0) + n return self end
function class.set(self, name) self.label = name end
local object = setmetatable({}, class)
local list = { {}, {}, {} }
local chain = { name = "first", next = { name = "second", next = { name = "third" } } }
local hosts = { ["192.0.2.7"] = {}, ["192.0.2.9"] = {} }
local current
local function both(a, ...) return ..., a end
local function each(t, f) for _, one in ipairs(t) do f(one) end end
local function fail(t) t.failed = (t.failed or 0) + 1 error("failed", 0) end

xdp.attach(function(pkt)
  object:count(2):count(#pkt)
  object:set(pkt.udp and "udp" or "other")
  print(object.n, object.label)

  each(list, function(one) one.at = (one.at or 0) + 1 end)
  local first, second = both(list[1], list[2])
  first.is, second.is = "second", "first"
  for _, one in ipairs(list) do print(one.at, one.is) end

  local link = chain
  while link do
    link.visits = (link.visits or 0) + #link.name
    link = link.next
  end
  print(chain.visits, chain.next.visits, chain.next.next.visits)

  current = pkt.ip and hosts[pkt.ip.src] or current
  if current then
    current.bytes = (current.bytes or 0) + #pkt
    print(current.bytes)
  end
  print(pcall(fail, list[3]))
  local ok, got = pcall(function(t) t.seen = true return t end, chain)
  print(list[3].failed, ok, got.seen, chain.seen)
  local picked = select(2, list[1], list[2])
  picked.picked = (picked.picked or 0) + 1
  print(list[2].picked, list[1].picked)
end)
