-- Spreads the connections to one address over several servers, at the driver. The servers have that address, too (on their loopback
-- interface), and answer clients directly: frames get to them by their MAC addresses and are not changed otherwise.
--
-- Which server a new connection gets is Maglev's consistent hashing (Eisenbud et al., NSDI 2016): a table of slots that the servers fill in
-- turn, each in an order of its own. When a server goes, hardly any slots but its own change hands. Connections keep their servers by a
-- table of their own.
-- `moonhook exec load_balancer -e 'set_server("one", false)'` takes a server out, as a health check does, and `true` puts it back.
local xdp = require "xdp"
local action = require "linux.xdp"

local SERVICE <const>, PORT <const> = "198.51.100.1", 80
local SLOTS <const> = 4099 -- A prime, a thousand times the number of servers or so.
local servers = {
  { name = "one", mac = "02:00:00:00:00:11", interface = "lan1", weight = 1 },
  { name = "two", mac = "02:00:00:00:00:12", interface = "lan2", weight = 1 },
  { name = "three", mac = "02:00:00:00:00:13", interface = "lan2", weight = 2 },
}

local slots = map { key = "int", value = "int", capacity = SLOTS }
local alive = {} -- By number; control code alone looks at it.
local connections = map { key = "int", value = "int", capacity = 1000000, evict = "lru" }

-- FNV-1a, 32 bits.
local function hash(text)
  local sum = 0x811c9dc5
  for _, byte in ipairs { text:byte(1, -1) } do
    sum = (sum ~ byte) * 0x01000193 & 0xffffffff
  end
  return sum
end

-- Gives each slot a server that is alive. A server of twice the weight takes two slots when it is its turn.
local function fill()
  local taken, left, at, order = {}, SLOTS, {}, {}
  for number, server in ipairs(servers) do
    if alive[number] then
      order[#order + 1] = number
      at[number] = { slot = hash(server.name) % SLOTS, step = hash(server.name .. "/") % (SLOTS - 1) + 1 }
    end
  end
  while #order > 0 and left > 0 do
    for _, number in ipairs(order) do
      local way = at[number]
      for _ = 1, math.min(servers[number].weight, left) do
        while taken[way.slot] do
          way.slot = (way.slot + way.step) % SLOTS
        end
        taken[way.slot] = number
        left = left - 1
      end
    end
  end
  for slot = 0, SLOTS - 1 do
    if slots[slot] ~= taken[slot] then
      slots[slot] = taken[slot]
    end
  end
end

-- Slots first: a connection that is forgotten begins anew with them.
function set_server(name, is_alive)
  for number, server in ipairs(servers) do
    if server.name == name then
      alive[number] = is_alive
    end
  end
  fill()
  for connection, number in pairs(connections) do
    if not alive[number] then
      connections[connection] = nil
    end
  end
end

for number in ipairs(servers) do
  alive[number] = true
end
fill()

-- A number for a connection, of its source address and port: no two have the same over IPv4, hardly any over IPv6.
local function number_of(pkt, tcp)
  local start = pkt.vlan and 18 or 14
  local sum = tcp.sport
  if pkt.ip.version == 4 then
    sum = sum | pkt:getuint32(start + 12) << 16
  else
    sum = sum ~ pkt:getint64(start + 8) ~ pkt:getint64(start + 16) << 7
  end
  return sum * 0x9e3779b97f4a7c15
end

xdp.attach(function(pkt)
  local tcp = pkt.tcp
  if not tcp or tcp.dport ~= PORT or pkt.ip.dst ~= SERVICE then
    return
  end
  local connection = number_of(pkt, tcp)
  local number = connections[connection]
  if not number then
    number = slots[(connection >> 32 ~ connection) % SLOTS]
    if not number then
      return action.DROP
    end
    connections[connection] = number
  end
  local server, eth = servers[number], pkt.eth
  eth.src, eth.dst = eth.dst, server.mac
  return redirect(server.interface)
end)
