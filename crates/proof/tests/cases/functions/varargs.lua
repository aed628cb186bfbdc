-- Variable arguments and `select`.
-- frames: tcp udp hex:0300000000000000000000000000
local xdp = require "xdp"
local function count(...) return select("#", ...) end
local function first(a, ...) return a, count(...) end
local function sum(...)
  local total = 0
  for i = 1, select("#", ...) do
    total = total + (select(i, ...) or 0)
  end
  return total
end
local function last(...) return (select(-1, ...)) end
xdp.attach(function(pkt)
  local a, b, c = pkt:getuint8(0), pkt:getuint8(1), pkt:getuint8(2)
  print(count(), count(nil), count(a, nil), first(a, b, c), first())
  print(sum(a, b, c), sum(), sum(nil, a), last(a, b, c))
  print(select(2, a, b, c))
  print(select(-2, a, b, c))
  local n = a % 4
  print((select(n + 1, "x", "y", "z", "w")))
  print(select(n, a, b, c))
end)
