-- Objects made at packet time, with classes of load time and of packet time.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 hex:0504030201000000000000000000 hex:ff00ff00ff00ff00ff00ff00ff00
local xdp = require "xdp"

local Base = {}
Base.__index = Base
function Base.new(kind) return setmetatable({ kind = kind, n = 0 }, Base) end
function Base:name() return "base" end
function Base:count(by) self.n = self.n + (by or 1) return self end

local Derived = setmetatable({}, { __index = Base })
Derived.__index = Derived
function Derived:name() return "derived:" .. Base.name(self) end
function Derived.new(kind) return setmetatable(Base.new(kind), Derived) end

xdp.attach(function(pkt)
  local o = pkt:getuint8(0) % 2 == 0 and Base.new("even") or Derived.new("odd")
  print(o:name(), o:count():count(pkt:getuint8(1)).n, o.kind, getmetatable(o) == Base)

  local Point = {}
  Point.__index = Point
  function Point.new(x) return setmetatable({ x = x }, Point) end
  function Point:add(n) self.x = self.x + n return self end
  local a, b = Point.new(1), Point.new(pkt:getuint8(2))
  print(a:add(5):add(6).x, b:add(1).x, a == b, a ~= a, a.missing)

  local t = setmetatable({}, { __index = function(_, key) return key .. "!" end })
  t.a = #pkt
  print(t.a, t.b, rawget(t, "b"))
end)
