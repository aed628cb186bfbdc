-- What a lookup gave is used again, until something may have changed it.
-- frames: tcp udp tcp udp6 udp tcp
local xdp = require "xdp"
local flows, counts, names = {}, {}, {}
xdp.attach(function(pkt)
  local src = pkt.ip.src
  if not flows[src] then flows[src] = { pkts = 0, bytes = 0 } end
  flows[src].pkts = flows[src].pkts + 1
  flows[src].bytes = flows[src].bytes + #pkt
  local before = counts[src]
  if not counts[src] then counts[src] = 10 end
  counts[src] = counts[src] + 1
  local after = counts[src]
  counts[src] = nil
  local gone = counts[src]
  for i = 1, 3 do
    if not counts[src] then counts[src] = i end
    counts[src] = counts[src] * 2 + i
    if i == 2 then counts[src] = nil end
  end
  print(flows[src].pkts, flows[src].bytes, before, after, gone, counts[src])
  -- Strings of all lengths as keys, up to the frame's end.
  for length = 0, 64, 7 do
    local name = pkt:getstring(#pkt - length, length)
    names[name] = (names[name] or 0) + length
    print(length, names[name], names[pkt:getstring(0, length)])
  end
  if names[pkt:getstring(0)] then print("longer than a key") end
end)
