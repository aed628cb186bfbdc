-- Traversals of tables that are declared: per CPU, bounded, with least recently used entries given up, with a lifetime.
-- frames: all tcp udp all
local xdp = require "xdp"
local each = map { key = "int", value = "int", percpu = true }
local few = map { key = "int", value = { n = "int", who = "ip" }, capacity = 64, evict = "lru" }
local both = map { key = "mac", value = "int", evict = "lru", percpu = true }
local alive = map { key = "ip", value = { n = "int" }, ttl = 1000, capacity = 100 }
xdp.attach(function(pkt)
  pcall(type, pkt)
  each[#pkt & 15] = (each[#pkt & 15] or 0) + 1
  both[pkt.eth.src] = (both[pkt.eth.src] or 0) + 1
  local ip = pkt.ip
  if ip then
    few[ip.proto] = { n = #pkt, who = ip.src }
    alive[ip.src] = { n = #pkt }
  end
  local sum = 0
  for k, v in pairs(each) do sum = sum + k * v end
  print("each", sum)
  sum = 0
  for k, v in pairs(few) do sum = sum + k * v.n + #v.who end
  print("few", sum)
  sum = 0
  for k, v in pairs(both) do
    if k == pkt.eth.src then print("both", k, v) end
    sum = sum + v
  end
  print("both", sum)
  sum = 0
  for k, v in pairs(alive) do sum = sum + #k * v.n end
  print("alive", sum, next(alive) == nil)
end)
