-- Leaving early, loops within loops, functions and closures in loops.
-- frames: tcp udp icmp tls tcp6 udp6 arp tcp
local xdp = require "xdp"
local seen, pairs_seen, empty, gone = {}, {}, map { key = "int", value = "int" }, { 1, 2, 3 }
local function any(t) for _ in pairs(t) do return true end return false end
local function count(t) local n = 0 for _ in pairs(t) do n = n + 1 end return n end
local function sum(t, weight)
  local s = 0
  for k, v in pairs(t) do s = s + weight(k, v) end
  return s
end
xdp.attach(function(pkt)
  local length = #pkt
  seen[length] = (seen[length] or 0) + 1
  print(any(seen), any(empty), count(seen), count(empty), count(gone))
  for key in pairs(gone) do gone[key] = nil end
  print(next(gone), next(empty), next(seen) ~= nil, #gone, #empty)
  gone[1] = length

  local total = 0
  for a, n in pairs(seen) do
    for b, m in pairs(seen) do
      if a < b then total = total + n * m end
      pairs_seen[a * 65536 + b] = n + m
    end
  end
  print(total, count(pairs_seen))

  local found
  for key, n in pairs(seen) do
    if key == length then found = n break end
  end
  print(found, sum(seen, function(k, v) return k * v + length end))

  for i = 1, 3 do
    local n = 0
    for key in next, seen do
      if key < length then goto continue end
      n = n + i
      ::continue::
    end
    print(i, n)
  end
  local iterator, state, first = pairs(seen)
  print(iterator == next, state == seen, first, type(iterator))
  print(select("#", pairs(seen)))
end)
