-- Entries that are assigned, added to, replaced and deleted while they are visited.
-- frames: tcp udp icmp tls tcp6 tcp udp tcp*5
local xdp = require "xdp"
local counts, flows = { [1] = 10, [2] = 20, [3] = 30, [4] = 40 }, { ["a"] = { n = 1, last = "x" }, ["b"] = { n = 2, last = "y" } }
local turn = 0
xdp.attach(function(pkt)
  turn = turn + 1
  counts[#pkt] = turn
  for name in pairs(flows) do flows[name] = { n = flows[name].n, last = name } end
  for key, value in pairs(counts) do
    if key % 2 == 0 then counts[key] = value + 1 else counts[key] = counts[key] - 1 end
  end
  local sum, n = 0, 0
  for key, value in pairs(counts) do
    sum, n = sum + value * key, n + 1
    if value == turn then counts[key] = nil end
  end
  print(sum, n, counts[2], counts[3], counts[#pkt])

  -- Deleted before its turn comes, whichever comes first.
  local visited = 0
  for key in pairs(counts) do
    visited = visited + 1
    if counts[2] and counts[4] then counts[key == 2 and 4 or 2] = nil end
  end
  print(visited)
  if turn % 3 == 0 then counts[2], counts[4] = 2, 4 else counts[2], counts[4] = nil, nil end

  local held = {}
  for name, flow in pairs(flows) do
    flow.n = flow.n + #pkt
    flow.last = name .. "!"
    held[name] = flow
    if flow.n > 500 then flows[name] = nil end
  end
  local a, b = flows.a, flows.b
  print(a and a.n, a and a.last, b and b.n, b and b.last, held.a == a, held.b == b)
  for name in pairs(flows) do flows[name] = { n = turn, last = "" } end
end)
