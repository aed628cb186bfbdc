-- errors whose tracebacks name what was called.
-- frames: udp tcp arp udp6 icmp udp*3
local xdp = require "xdp"

local Point = setmetatable({}, {__call = function(class, x, y)
  return setmetatable({x = x, y = y}, class)
end})
Point.__index = Point
Point.__call = function(self, factor, ...)
  return self.x * factor, self.y * factor, ...
end
function Point:sum() return self.x + self.y end

local origin = Point(1, 2)
local limit = setmetatable({most = 60}, {__call = function(self, length, ...)
  if length > self.most then return true, select("#", ...), ... end
  return false
end})
local forward = setmetatable({}, {__call = function(_, ...) return limit(...) end})
local fails = setmetatable({}, {__call = function(_, pkt) error("no " .. #pkt) end})

xdp.attach(function(pkt)
  local made = Point(#pkt, 3)
  print(made:sum(), made(2), made(2, "a"))
  print(origin(#pkt), (origin(7)))
  print(limit(#pkt), limit(100, 1, 2), forward(#pkt, nil), forward(90, pkt.ip and pkt.ip.ttl))
  if pkt.tcp then fails(pkt) end
  if pkt.arp then
    local none = setmetatable({}, {})
    none(1)
  end
end)
