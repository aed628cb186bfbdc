-- Fields of tables of load time that are assigned through variables, parameters and other tables.
-- frames: tcp udp tcp icmp tls udp6 tcp
local xdp = require "xdp"
local state = { count = 0, last = "none", open = true, limit = 3 }
local hosts = { ["192.0.2.7"] = { seen = 5, name = "seven" }, ["192.0.2.9"] = { seen = 1, name = "nine" } }
local rows = { { hits = 0, step = 2 }, { hits = 100, step = 3 }, { hits = 7, step = 4 } }
local class = { kind = "class", base = 40 }
class.__index = class
local object, newer = setmetatable({ own = 1 }, class), { own = 2, set = 0 }
local function raise(t) t.count = t.count + 10 end
local function mark(host, n)
  host.first = host.first or n
  host.seen, host.last = host.seen + 1, n
  return host
end

xdp.attach(function(pkt)
  state.count = state.count + 1
  local s = state
  s.count = s.count + s.limit
  raise(s)
  raise(state)
  print(state.count, s.last, s.open, s.fresh)
  s.open = not s.open
  s.last = pkt.udp and "udp" or pkt.tcp and "tcp" or nil
  if s.count > 60 then s.fresh = s.count end

  local host = pkt.ip and hosts[pkt.ip.src]
  if host then
    mark(host, #pkt)
    print(host.name, host.seen, host.first, host.last, host.none)
    if host.seen == 8 then host.first = nil end
  end

  local row = rows[#pkt % 3 + 1]
  row.hits = row.hits + row.step
  row.step = row.step + 1
  local sum = 0
  for _, other in ipairs(rows) do
    other.turns = (other.turns or 0) + 1
    sum = sum + other.hits * other.turns
  end
  print(row.hits, row.step, sum)

  local chosen = pkt.tcp and object or newer
  chosen.own = chosen.own + 1
  print(object.own, newer.own, object.kind, newer.kind)
  object.base = (object.base or 0) + 2
  class.kind = pkt.udp and "changed" or class.kind
  print(object.base, class.base, object.kind)
  local before = newer.set
  newer.set = 5
  newer.set = before + 1
  print(newer.set)
end)
