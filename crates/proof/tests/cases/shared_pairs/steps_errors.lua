-- Keys that no entry can have are Lua's error; and the budget ends a loop that starts again and again.
-- frames: tcp udp icmp tls arp syn
local xdp = require "xdp"
local counts, texts = {}, map { key = "string:8", value = "int", capacity = 16 }
local hosts = map { key = "ip", value = "int", capacity = 16 }
local empty = map { key = "int", value = "int", capacity = 16 }
local unknown = {}
xdp.attach(function(pkt)
  counts[#pkt] = #pkt
  local ip = pkt.ip
  print(next(empty), next(empty, nil))
  if ip and ip.proto == 17 then
    texts["a"] = 1
    print(next(texts, pkt.udp and "too long for it"))
  elseif ip and ip.proto == 1 then
    hosts[ip.src] = 1
    print(next(hosts, #pkt))
  elseif #pkt > 200 then
    print(next(counts, #pkt > 200))
  elseif not ip then
    unknown[#pkt > 500 or nil] = 1
    print(next(counts, counts))
  elseif pkt.tcp.syn then
    while next(counts) do print(next(counts, 1.5)) end
  else
    local n = 0
    while next(counts, nil) do n = n + 1 end
    print(n)
  end
end)
