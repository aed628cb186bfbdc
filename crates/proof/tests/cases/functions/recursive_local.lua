-- A function that captures its own name, on each path another one; and variables of one function in the place of another's.
-- frames: udp tcp icmp
local xdp = require "xdp"

local function adder(n)
  return function(x) n = n + x return n end
end
local function multiplier(n)
  return function(x) n = n * x return n end
end

xdp.attach(function(pkt)
  local left = 3
  if pkt.udp then
    local f
    local function g() left = left - 1 return f end
    f = g
    print(g() == f, left)
  else
    local function g(x) left = left * x return x end
    print(g(2), left)
  end
  local make = pkt.tcp and adder or multiplier
  local one, two = make(left), make(#pkt)
  print(one(2), one(3), two(2), two(3), left)
end)
