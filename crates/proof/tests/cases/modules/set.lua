-- Sets of strings: membership, labels of a name and what follows its dots, lengths, arguments that are no strings.
-- frames: sni:a.b.c sni:x.a.b.c sni:b.c sni:c sni:nope sni:a. sni:. sni:zz.name7.example sni:name7.example sni:7 tls tcp udp icmp
local xdp = require "xdp"
local set = require "set"
local few = set.new { "a", "b.c", "c", "c" }
local names = {}
for i = 1, 100 do names[i] = "name" .. i .. ".example" end
local many, none, empty = set.new(names), set.new {}, set.new { "" }
local labeled = set.labeled { ["a.b.c"] = 1, ["b.c"] = 2, c = 4, [""] = 8, example = 0xffffffff, ["7"] = 16 }
local unlabeled = set.labeled {}
xdp.attach(function(pkt)
  local tls = pkt.tls
  if not tls then
    if pkt.tcp then print(few:has(#pkt)) end
    if pkt.udp then return few:has(nil) end
    if pkt.icmp then return labeled:match() end
    return 1
  end
  local name = tls.sni
  print(few:has(name), many:has(name), none:has(name), empty:has(name))
  print(labeled:match(name), unlabeled:match(name))
  print(#few, #many, #none, #empty, #labeled, #unlabeled)
  local part = name:sub(3)
  print(part, few:has(part), many:has(part), empty:has(part), labeled:match(part))
end)
