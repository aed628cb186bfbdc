-- What the steps of a loop may do with the table: assign the entries that are there, and delete them (manual § 6.2).
-- frames: tcp udp icmp tls tcp6 udp6 arp syn*3 udp tcp
local xdp = require "xdp"
local texts = map { key = "int", value = "string:16", capacity = 8 }
local flows = map { key = "ip", value = { n = "int", who = "string:4" }, capacity = 16, ttl = 1000 }
local odd, queue = map { capacity = 128 }, map { capacity = 16 }
for i = 1, 8 do texts[i] = "t" .. i end
xdp.attach(function(pkt)
  -- An entry that is replaced is not visited again.
  local turns, key, value = 0, next(texts)
  while key do
    turns = turns + 1
    texts[key] = value:sub(1, 8) .. #pkt
    key, value = next(texts, key)
  end
  print(turns)

  for i = 1, 9 do odd[#pkt * i], queue[i] = i, #pkt end
  turns, key = 0, nil
  repeat
    key = next(odd, key)
    if key and key % 2 == 1 then
      odd[key] = nil
      turns = turns + 1
    end
  until not key
  print(turns)
  local left, sum = 0, 0
  for k, v in next, odd do left, sum = left + 1, sum + k * v end
  print(left, sum)

  -- Emptied from the front, each time from the first one.
  turns, key = 0, next(queue)
  while key do
    queue[key] = nil
    turns, key = turns + 1, next(queue)
  end
  print(turns, next(queue))

  local ip = pkt.ip
  if not ip then return end
  flows[ip.src], flows[ip.dst] = { n = 1, who = "src" }, { n = 2, who = "dst" }
  turns, key, value = 0, next(flows)
  while key do
    turns = turns + #key * value.n + #value.who
    flows[key] = { n = value.n + 1, who = value.who }
    if ip.proto == 17 then flows[key] = nil end
    key, value = next(flows, key)
  end
  print(turns, next(flows) == nil)
end)
