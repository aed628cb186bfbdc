-- Strings as long as a name of the DNS can be, and the longest ones, as keys: of integers, of records, in walks.
-- frames: tcp udp tcp
local xdp = require "xdp"
local names = map { key = "string:255", value = "int", capacity = 8 }
local records = map { key = "string:260", value = { n = "int", s = "string:8" }, capacity = 8 }
local long = ("x"):rep(255)
local longest = ("y"):rep(260)
xdp.attach(function(pkt)
  names[long] = (names[long] or 0) + 1
  names["short"] = (names["short"] or 0) + #pkt
  if not records[longest] then records[longest] = { n = 0, s = "new" } end
  local r = records[longest]
  r.n = r.n + 1
  print(names[long], names["short"], names[longest], r.n, r.s, records[long])
  local count = 0
  for name, n in pairs(names) do count = count + #name + n end
  for name, entry in pairs(records) do count = count + #name + entry.n end
  print(count)
  records[longest] = nil
end)
