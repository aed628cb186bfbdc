-- frames: udp tcp
-- A key that was read as nil is assigned more than once: the last assignment counts.
local xdp = require "xdp"
local t = map { key = "int", value = "int" }
local r = map { key = "int", value = { n = "int" } }
local s = map { key = "string:16", value = "int" }
xdp.attach(function(pkt)
  local k = #pkt
  if not t[k] then t[k] = 1 end
  t[k] = 5
  t[k] = nil
  if not t[k] then
    t[k] = 6
    t[k] = nil
    t[k] = 7
  end
  if not r[k] then r[k] = { n = 1 } end
  r[k] = { n = 2 }
  r[k] = nil
  if not r[k] then r[k] = { n = 3 } end
  if not s["a"] then s["a"] = (s["a"] or 0) + 1 end
  s["a"] = 9
  local function f(key) if not s[key] then s["b"] = 4 s[key] = 8 end s[key] = s[key] + 1 end
  f("b")
  f("c")
  print(t[k], r[k].n, s["a"], s["b"], s["c"])
end)
