-- Multiple assignment: values first, then variables; too few values, too many (manual § 3.3.3).
-- frames: hex:0102030000000000000000000000 hex:0300010000000000000000000000
local xdp = require "xdp"
local function three(a) return a, a + 1, a + 2 end
local state, flag = 0, false
xdp.attach(function(pkt)
  local a, b, c = pkt:getuint8(0), pkt:getuint8(1), pkt:getuint8(2)
  a, b = b, a
  print(a, b, c)
  a, b, c = c, a
  print(a, b, c)
  a, b, c = three(5)
  print(a, b, c)
  a, b, c = 0, three(a)
  print(a, b, c)
  a, b, c = three(1), 9
  print(a, b, c)
  a, b, c = (three(1))
  print(a, b, c)
  local t, i = { 1, 2, 3 }, 1
  i, t[i] = i + 1, 20
  print(i, t[1], t[2], t[3])
  t[1], t[2], t[3] = t[3], t[1], t[2]
  print(t[1], t[2], t[3])
  local u = t
  t, t.x = { x = "new" }, "old"
  print(t.x, u.x)
  local x, y <const>, z = three(i)
  print(x, y, z)
  local p, q = 1
  print(p, q)
  state, flag = state + i, not flag
  print(state, flag)
  do local state = "inner" print(state) end
  print(state)
end)
