-- `next` with a table alone, raw access, `#` and sequences, in code that cannot be expanded.
-- frames: tcp tcp udp udp icmp udp6 udp6 arp
local xdp = require "xdp"
local one = map { key = "ip", value = "int", capacity = 4 }
local records, texts = map { key = "int", value = { length = "int", at = { ttl = "int" } } }, map { key = "string:30", value = "boolean" }
local lives = map { key = "int", value = "string:8", ttl = 1000 }
local list = map { key = "int", value = "int" }
xdp.attach(function(pkt)
  print(next(one) == nil, next(records) == nil, next(texts) == nil, next(lives) == nil)
  print(next(one))
  list[#list + 1] = #pkt
  table.insert(list, 7)
  local sum = 0
  for i, v in ipairs(list) do sum = sum + i * v end
  print(#list, sum, list[#list], #texts, select("#", table.unpack(list)), table.concat(list, "+"))
  if #list == 8 then table.remove(list) end
  local ip = pkt.ip
  if not ip then return end
  one[ip.src] = ip.proto
  records[ip.proto] = { length = #pkt, at = { ttl = ip.ttl } }
  texts["to " .. ip.dst] = true
  lives[ip.version] = "v" .. ip.version
  local address, proto = next(one)
  print(address, proto, one[address] == proto)
  local key, record = next(records)
  record.length = record.length + 1
  print(key, record.length, record.at.ttl, records[key].length, record == records[key])
  local text, yes = next(texts)
  print(text, #text, yes)
  print(next(lives))
  print(pcall(next, lives))
  local f = next
  print(f(texts))
  if next(one, nil) then one[address] = nil end
  records[key], texts[text], lives[ip.version] = nil, nil, nil
end)
