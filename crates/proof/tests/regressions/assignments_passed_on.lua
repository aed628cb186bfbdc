-- `__newindex` that is a table takes the assignments to another one, whose fields have no other assignment.
-- frames: tcp short
local xdp = require "xdp"
local L, M = { foo = 1, bar = 2 }, { baz = 3 }
xdp.attach(function(pkt)
  local t = {}
  setmetatable(t, { __newindex = L })
  t.foo = #pkt
  local u = {}
  u.baz = 4
  print(L.foo, L.bar, rawget(t, "foo"), u.baz, M.baz)
end)
