-- __index and __newindex as functions and tables, chains, rawget and rawset (manual § 2.4).
-- frames: hex:0102030000000000000000000000 hex:0900000000000000000000000000
local xdp = require "xdp"
local defaults = { x = 10, [9] = "nine", nested = { y = 5 } }
local base = setmetatable({ b = "base" }, { __index = defaults })
local by_function = { __index = function(t, k) return tostring(k) .. "?" .. rawlen(t) end }
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  local t = setmetatable({ own = n }, { __index = base })
  print(t.own, t.b, t.x, t[9], t[n], t.nested.y, t.missing, rawget(t, "x"), rawget(t, "own"))
  local f = setmetatable({ "one" }, by_function)
  print(f[1], f[n], f.name, f[true], f[-n], rawget(f, n))
  local log, store = {}, {}
  local w = setmetatable({ present = 1 }, {
    __newindex = function(t, k, v)
      log[#log + 1] = tostring(k) .. "=" .. tostring(v)
      rawset(t, k, v)
    end,
  })
  w.present, w.new, w[n] = 2, n, "at n"
  w.new, w[n] = n + 1, nil
  w[n] = "again"
  print(table.concat(log, " "), w.present, w.new, w[n])
  local p = setmetatable({}, { __newindex = store, __index = store })
  p.a, p[n] = n, "stored"
  p.a = p.a + 1
  print(rawget(p, "a"), store.a, p[n], store[n], next(p))
  local chained = setmetatable({}, { __newindex = setmetatable({}, { __newindex = store }) })
  chained.far = "far" .. n
  print(rawget(chained, "far"), store.far)
  local strings = setmetatable({}, { __index = string })
  print(strings.rep("x", n), (strings.upper)("abc"))
  print(pcall(function() setmetatable({}, { __index = 5 })[n] = n return setmetatable({}, { __index = n }).x end))
  print(pcall(function() return setmetatable({}, { __index = n }).x.y end))
  print(pcall(function() local q = setmetatable({}, { __newindex = n }) q.x = 1 end))
end)
