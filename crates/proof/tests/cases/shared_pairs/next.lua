-- `next` with a table alone: whether it is empty, and an entry that it has.
-- frames: tcp tcp udp udp icmp udp6 udp6 arp
local xdp = require "xdp"
local one = map { key = "ip", value = "int", capacity = 4 }
local records, texts = {}, {}
local lives = map { key = "int", value = "string:8", ttl = 1000 }
xdp.attach(function(pkt)
  print(next(one) == nil, next(records) == nil, next(texts) == nil, next(lives) == nil)
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
  print(key, record.length, record.at.ttl, records[key].length)
  local text, yes = next(texts)
  print(text, #text, yes)
  print(next(lives))
  if next(one, nil) then one[address] = nil end
  records[key], texts[text], lives[ip.version] = nil, nil, nil
end)
