-- Tables of varargs, and functions in tables.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 hex:0504030201000000000000000000 hex:ff00ff00ff00ff00ff00ff00ff00
local xdp = require "xdp"

local function pack(...) return { n = select("#", ...), ... } end
local function list(...) return { ... } end

xdp.attach(function(pkt)
  local p = pack(pkt:getuint8(0), nil, 3)
  print(p.n, p[1], p[2], p[3])
  print(#list(), #list(1, #pkt), list(pkt:getuint8(1))[1])
  local options = { width = pkt:getuint8(0), scale = function(self, x) return self.width * x end }
  local sum = 0
  for i = 1, 5 do sum = sum + options:scale(i) end
  print(sum)
  local add, count
  do
    local function counter() local n = 0 return function(by) n = n + by return n end end
    add, count = counter(), counter()
  end
  local function compose(f, g) return function(x) return f(g(x)) end end
  local both = compose(add, count)
  print(both(1), both(pkt:getuint8(2)), add(0), count(0))
end)
