-- Variables that are an integer on one path and a float on another, in loops too, and floats that vary.
-- frames: udp tcp icmp arp
local xdp = require "xdp"
local weights = { 0.25, 3, 1.5, [7] = 2, [2.5] = "fraction" }
local average = 0
xdp.attach(function(pkt)
  local n = #pkt
  local x = pkt.udp and n or pkt.tcp and n / 4 or "3"
  print(x, math.type(x), x == n)
  if not pkt.udp then x = x * 2 end
  print(x + 1, x // 2, x < 20, -x)
  local sum = 0
  for i = 1, 6 do
    if i % 2 == 0 then sum = sum + i / 4 else sum = sum + i end
    local weight = weights[i]
    if weight then sum = sum + weight end
  end
  print(sum, weights[n / n + 1], weights[n - n + 2.5], weights[n / 7], weights[n // 1 / n * 7])
  average = average * 0.75 + n * 0.25
  print(average, average > 50)
  local t = { n / 2, n, share = n / 3 }
  t.share = t.share + t[1]
  print(t.share, #t, t[n / n], t[n / n + 0.5])
  local s = 0
  for _, value in ipairs(t) do s = s + value end
  local least
  while s > 1 do s, least = s / 3, s end
  print(s, least)
end)
