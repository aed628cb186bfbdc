-- Fields of metatables of load time that packets assign.
-- frames: tcp short
local xdp = require "xdp"
local mt = { __len = function() return 3 end, __index = { x = 1 } }
local o = setmetatable({}, mt)
local other = { x = 2 }
local function f(t, k) return k end
xdp.attach(function(pkt)
  print(o.x, #o)
  mt.__index = other
  mt.__len = nil
  print(o.x, #o)
  mt.__index = f
  print(o.foo, setmetatable({}, mt).bar)
end)
