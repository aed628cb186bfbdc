-- Variables that are nil or an integer: sums of them are right wherever they were nil, and behind every way to make them nil again.
-- frames: tcp udp tcp icmp udp*5 arp tcp udp tcp
local xdp = require "xdp"
local n, copied, other, down, twice, all = nil, nil, nil, nil, nil, {}
xdp.attach(function(pkt)
  n = (n or 0) + 1
  local now = n
  total = (total or 0) + #pkt
  all.hits = 2 + (all.hits or 0)
  down = (down or 0) - #pkt
  twice = (twice or 0) + 1
  twice = (twice or 0) + 1
  local before = other or 0
  other = before + 3
  print(n, now, total, all.hits, down, twice, other, before, copied)
  if pkt.tcp then
    n, copied = nil, n
    all.hits = copied
  elseif pkt.arp then
    copied, total = nil, 100
    all.hits = copied
    down = pkt.ip and 1
  end
  for i = 1, 3 do copied = (copied or 0) + i end
  other = other and other + 1 or 1
  if not pkt.udp then twice = nil end
  local kept = other or 0
  if pkt.icmp then other = nil end
  other = kept + 1
  print(n, copied, total, all.hits, down, twice, other, kept)
end)
