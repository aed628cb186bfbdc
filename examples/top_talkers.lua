-- Counts the bytes that come from each source address and drops what is over a quota. Every two seconds a timer prints the
-- sources that sent most, and the count begins anew.
local xdp = require "xdp"
local action = require "linux.xdp"

local interval <const> = 2
local quota <const> = 100000
local shown <const> = 10

local bytes = map{key = "ip", value = "int", capacity = 100000, evict = "lru"}

xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then
    return action.PASS
  end
  local src = ip.src
  bytes[src] = (bytes[src] or 0) + #pkt
  if bytes[src] > quota then
    return action.DROP
  end
  return action.PASS
end)

timer.every(interval, function()
  local talkers = {}
  for src, count in pairs(bytes) do
    talkers[#talkers + 1] = { src = src, count = count }
    bytes[src] = nil
  end
  if #talkers == 0 then
    return
  end
  table.sort(talkers, function(a, b) return a.count > b.count end)
  print(string.format("%d sources in %d seconds", #talkers, interval))
  for i = 1, math.min(#talkers, shown) do
    print(string.format("%12d  %s", talkers[i].count, talkers[i].src))
  end
end)
