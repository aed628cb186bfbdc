-- Table constructors: positional, named and computed fields, last call expanded, separators (manual § 3.4.9).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000
local xdp = require "xdp"
local function three(n) return n, n + 1, n + 2 end
local function none() end
xdp.attach(function(pkt)
  local n, m = pkt:getuint8(0), pkt:getuint8(1)
  local t = { n, m; x = n, ["y" .. m] = m, [n + 100] = "computed", [true] = "yes", three(n) }
  print(#t, t[1], t[2], t[3], t[4], t[5], t.x, t["y" .. m], t[n + 100], t[true], t[false])
  local u = { three(n), three(m), (three(n)) }
  print(#u, u[1], u[2], u[3])
  print(#{ none() }, #{ none(), none() } <= 1, #{ (none()) } == 0, #{ none(), n })
  print(select("#", table.unpack { three(n) }), #{ n, n, n, }, #{ [1] = n, [2] = m })
  local function varargs(...) return { ... }, { n = select("#", ...), ... }, { ..., "last" }, { (...) } end
  local a, b, c, d = varargs(n, m, "x")
  print(#a, b.n, #b, #c, c[2], #d)
  local nested = { list = { n, { m, { three(m) } } }, f = function(x) return x + n end, [{}] = 1 }
  print(nested.list[2][2][3], nested.f(m), nested.list[1], #nested.list)
  local big = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
    29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, three(n) }
  print(#big, big[1 + n], big[#big], big[55])
  print(pcall(function() return { [nil] = n } end))
  local order = {}
  local function note(x) order[#order + 1] = x return x end
  local _ = { note(1), [note(2)] = note(3), x = note(4), note(5) }
  print(table.concat(order, " "))
end)
