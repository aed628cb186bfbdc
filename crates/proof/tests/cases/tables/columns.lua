-- Fields of one of several tables of load time, chosen by a number: strings, numbers, booleans, addresses, tables, and where some have none.
-- frames: udp-0-9:x udp-1-9:x udp-2-9:x udp-3-9:x udp-4-9:x udp-5-9:x udp-6-9:x tcp udp6 arp
local xdp = require "xdp"

local servers = {
  { name = "one", mac = "02:00:00:00:00:11", ip = "192.0.2.1", ip6 = "2001:db8::1", weight = 1, up = true, at = { rack = 7, row = "a" } },
  { name = "two", mac = "02:00:00:00:00:12", ip = "192.0.2.2", ip6 = "2001:db8::2", weight = 2, up = false, at = { rack = 8 } },
  { name = "three", mac = "02:00:00:00:00:13", ip = "192.0.2.3", ip6 = "::", weight = -3, up = true, at = { rack = 9, row = "c" } },
  { name = "four", mac = "02:00:00:00:00:14", ip = "192.0.2.4", ip6 = "2001:db8::4", up = true, spare = "x", at = { row = "" } },
  { name = "five", mac = "ff:ff:ff:ff:ff:ff", ip = "255.255.255.255", ip6 = "::1", weight = math.mininteger, at = {} },
}
local mixed = { { v = 1 }, { v = "1" }, { v = true }, {}, { v = "192.0.2.9" } }
local odd = { { v = "02:00:00:00:00:0A" }, { v = "02:00:00:00:00:0b" }, { v = "02:00:00:00:00:0c" } }
local addresses = { "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.2" }
local by_name = { one = servers[1], two = servers[2], three = servers[3] }
local changed = { { n = 0 }, { n = 0 }, { n = 0 } }
local class = { hello = "inherited" }
local objects = {}
for i = 1, 4 do
  objects[i] = setmetatable({ id = i, own = i > 2 and "own" or nil }, { __index = class })
end

local function show(server, field)
  print(field, server[field], server[field] == "02:00:00:00:00:12", server[field] == 2)
end

xdp.attach(function(pkt)
  local number = pkt.udp and pkt.udp.sport or 0
  local server = servers[number]
  if server then
    print(server.name, server.mac, server.ip, server.ip6, server.weight, server.up, server.spare)
    print(server.at.rack, server.at.row, #server.mac, server.ip:sub(1, 5), server.mac .. "/" .. server.name)
    print(server.mac == "02:00:00:00:00:12", server.ip == "192.0.2.3", server.ip6 == "::", server.ip6 == "::1", server.ip < "192.0.2.3")
    for _, field in ipairs { "name", "mac", "weight" } do
      show(server, field)
    end
    print(server == servers[2], rawequal(server, by_name.three), server.name == "four" and server.spare:upper())
    print(number + (server.weight or 10), server.up and "up" or "down")
  end
  local one = mixed[number]
  print(one and one.v, one and one.v == "192.0.2.9", one and type(one.v))
  print(odd[number % 3 + 1].v, odd[number % 3 + 1].v == "02:00:00:00:00:0A")
  print(addresses[number], addresses[number] == addresses[2], addresses[number] == pkt.ip, #(addresses[number] or ""))
  local c = changed[number % 3 + 1]
  c.n = c.n + 1
  print(changed[1].n, changed[2].n, changed[3].n)
  local object = objects[number]
  print(object and object.id, object and object.hello, object and object.own)
  -- One of several tables or something else.
  local any = number == 6 and 5 or number == 4 and "text" or servers[number % 3 + 1]
  print(type(any), type(any) == "table" and any.mac)
  return any.weight
end)
