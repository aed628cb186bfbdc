-- A metamethod's results are cut to one; comparison gives a boolean, whatever the metamethod gives (manual § 2.4).
-- frames: hex:0300000000000000000000000000 hex:0000000000000000000000000000
local xdp = require "xdp"
local meta = {
  __add = function(a, b) return 1, 2, 3 end,
  __sub = function() end,
  __lt = function(a, b) return b.n end,
  __le = function(a, b) return nil end,
  __eq = function(a, b) return a.n end,
  __len = function(t) return "long", 2 end,
  __concat = function(a, b) return 7, 8 end,
  __index = function(t, k) return k, k end,
  __call = function(self, ...) return select("#", ...), ... end,
  __unm = function(a, b) return rawequal(a, b) end,
}
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  local a = setmetatable({ n = n > 0 and n or nil }, meta)
  local b = setmetatable({ n = 5 }, meta)
  print(a + b, a - b, a < b, a > b, a <= b, a >= b, a == b, a ~= b, b == a)
  print(#a, a .. b, a .. n, a[n], a.x, -a)
  print(a(), a(n), a(nil, nil), (a(n, n)))
  if a == b then print "equal" else print "not equal" end
  print(not (a < b), (a < b) and 1 or 2, a == a, a ~= a)
end)
