-- Assigning nil deletes; what is not there may be deleted, also by keys that cannot be there.
-- frames: tcp udp tcp udp tcp arp arp tcp
local xdp = require "xdp"
local last, names = map { key = "int", value = "int" }, map { key = "string:4", value = "string:8" }
last[1], last[2], last[3] = 1, 2, 3
names.a, names.b = "x", "y"
local function drop(t, ...)
  for _, key in ipairs({ ... }) do t[key] = nil end
end
xdp.attach(function(pkt)
  pcall(type, pkt)
  local kind = pkt.eth.type
  local key = pkt.udp and "b" or pkt.tcp and "a" or "c"
  print(last[#pkt], last[1], names[key], names.a)
  last[#pkt] = not last[#pkt] and kind or nil
  drop(last, #pkt % 4, 77)
  if names[key] then names[key] = nil else names[key] = key .. kind end
  drop(names, "no such key " .. #pkt, 5, true)
  print(last[#pkt], last[1], last[2], last[3], names[key], names.b)
  local n = last[3]
  last[3] = nil
  last[3] = n and n + 1
  print(last[3])
end)
