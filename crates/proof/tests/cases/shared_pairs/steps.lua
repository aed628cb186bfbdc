-- `next` with a key: loops of all kinds that go from one key to the one behind it.
-- frames: tcp udp icmp tls tcp6 udp6 arp syn*3 udp tcp
local xdp = require "xdp"
local counts, flags = {}, {}
local hosts = map { key = "ip", value = "int", capacity = 32 }
local words = map { key = "string:64", value = "string:40", capacity = 32 }
local records = map { key = "ip", value = { n = "int", last = "string:20" }, capacity = 64 }
local lives = map { key = "mac", value = "int", ttl = 1000, capacity = 16 }
local few = map { key = "int", value = "int", capacity = 1 }
for i = -4, 4 do counts[i * 1000] = i end
local function walk(t, f)
  local n, key, value = 0, next(t)
  while key ~= nil do
    n = n + f(key, value)
    key, value = next(t, key)
  end
  return n
end
xdp.attach(function(pkt)
  counts[#pkt] = (counts[#pkt] or 0) + 1
  flags[#pkt > 60] = #pkt
  lives[pkt.eth.src] = #pkt
  few[1] = #pkt
  local ip = pkt.ip
  if ip then
    hosts[ip.src] = (hosts[ip.src] or 0) + 1
    words["to " .. ip.dst] = ip.dst
    words[ip.proto % 2 == 0 and "" or string.rep("x", ip.proto)] = "?"
    records[ip.src] = { n = #pkt, last = ip.dst:sub(1, 20) }
  end
  print(walk(counts, function(k, v) return k * 7 + v end))
  print(walk(hosts, function(k, v) return #k * v end), walk(words, function(k, v) return #k * 100 + #v end))
  print(walk(flags, function(k, v) return k and v or -v end), walk(lives, function(k, v) return #k * v end))
  print(walk(records, function(k, v) return v.n + #k + #v.last end), walk(few, function(k, v) return k + v end))

  local n, sum, key, value = 0, 0, nil, nil
  repeat
    key, value = next(counts, key)
    if key then n, sum = n + 1, sum + value end
  until not key
  print(n, sum)

  -- From one key on: the others that are left are fewer each time.
  local first = next(counts)
  local behind = 0
  for k in next, counts, first do behind = behind + 1 end
  print(behind == n - 1, next(counts, first) ~= first, next(counts, nil) == first)
  print(next(few, 1), next(few, 1.0), next(few) == 1)

  local all = 0
  for k in next, hosts do
    for l in next, words, (next(words)) do all = all + #k * #l end
    local after = next(hosts, k)
    if after then all = all + #after end
  end
  print(all > 0 or not ip)
end)
