-- Traversals in code that cannot be expanded: sums, deletion and assignment on the way, loops within loops, breaks.
-- frames: tcp udp icmp tls tcp6 udp6 arp tcp
local xdp = require "xdp"
local seen = map { key = "int", value = "int" }
local gone = map { key = "int", value = "int" }
gone[1], gone[2], gone[3] = 1, 2, 3
local function sum(t)
  local s, n = 0, 0
  for k, v in pairs(t) do s, n = s + k * v, n + 1 end
  return s, n
end
xdp.attach(function(pkt)
  pcall(type, pkt)
  seen[#pkt] = (seen[#pkt] or 0) + 1
  print(sum(seen))
  print(sum(gone))
  for key in pairs(gone) do gone[key] = nil end
  print(next(gone), next(seen) ~= nil, #gone)
  gone[1] = #pkt
  print(next(gone))
  local total = 0
  for a, n in pairs(seen) do
    for b, m in next, seen do
      if a < b then total = total + n * m + sum(gone) end
    end
    for b in pairs(seen) do
      total = total + 1000
      if b then break end
    end
  end
  print(total)
end)
