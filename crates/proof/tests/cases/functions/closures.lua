-- Closures over values of load time, over variables that are assigned, and over locals of the handler.
-- frames: tcp udp icmp tcp*3
local xdp = require "xdp"
local function counter(start)
  local n = start
  return function(by) n = n + by return n end, function() return n end
end
local add, get = counter(10)
local add2, get2 = counter(1000)
local readers = {}
for i = 0, 3 do readers[i] = function(pkt) return pkt:getuint8(i) end end
local compose = function(f, g) return function(x) return f(g(x)) end end
local double = function(x) return x * 2 end
local twice = compose(double, double)
xdp.attach(function(pkt)
  print(add(1), get(), add2(pkt:getuint8(0)), get2())
  print(readers[0](pkt), readers[1](pkt), readers[2](pkt), readers[3](pkt))
  print(twice(pkt:getuint8(3)), compose(double, function(x) return x + 1 end)(5))
  local here = 0
  local function bump() here = here + pkt:getuint8(1) return here end
  print(bump(), bump(), here)
  local fs = pkt.tcp and bump or get
  print(fs())
  for i = 1, 3 do
    local square = function() return i * i end
    here = here + square()
  end
  print(here)
end)
