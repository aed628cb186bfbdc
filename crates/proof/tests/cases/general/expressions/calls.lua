-- Calls: missing and extra arguments, several results, methods, calls of string and table literals, tail calls
-- (manual § 3.4.10, § 3.4.12).
-- frames: hex:0305010000000000000000000000 hex:c801000000000000000000000000
local xdp = require "xdp"
local function two(a, b) return a, b end
local function count(...) return select("#", ...) end
local object = { base = 100 }
function object:add(n, m) return self.base + n, m end
function object.plain(n) return n end
local function loop(n, acc) if n == 0 then return acc end return loop(n - 1, acc + n) end
local even, odd
function even(n) if n == 0 then return true end return odd(n - 1) end
function odd(n) if n == 0 then return false end return even(n - 1) end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
xdp.attach(function(pkt)
  local n, m = pkt:getuint8(0), pkt:getuint8(1)
  print(two(), two(n), two(n, m), two(n, m, 3), (two(n, m)))
  print(count(), count(nil), count(two()), count(two(), two()), count((two())), count(n, two(1, 2)))
  print(object:add(n), object:add(n, m), object.add({ base = m }, n), object.plain(m), object["plain"](n))
  print(count "text", count {}, type { n }, two "x", #two { n, m })
  print(("x"):rep(n % 5), #("abc"):rep(m), ("%d"):format(n), (function(...) return ... end)(n, m))
  print(loop(n, 0), even(n), odd(m), fib(m % 12))
  local function deep(k) if k == 0 then return 0 end return 1 + deep(k - 1) end
  print(deep(n % 40))
  local function several(...) return two(...) end
  print(several(n, m), (several(n, m)))
  print(pcall(two), pcall(two, n), pcall(object.add))
  local f = n > 100 and two or count
  print(f(n, m))
  local functions = { two, count, loop, object.plain }
  print(functions[1 + n % 4](m, n % 7))
end)
