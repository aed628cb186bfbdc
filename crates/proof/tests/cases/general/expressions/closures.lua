-- Closures: shared upvalues, upvalues of loops, counters, functions that outlive their block (manual § 3.5).
-- frames: hex:0305010000000000000000000000*2 hex:0001000000000000000000000000
local xdp = require "xdp"
local kept = 0
local function bump(n) kept = kept + n return kept end
local function counter(start) local c = start return function(d) c = c + d return c end, function() return c end end
local add5 = (function(k) return function(x) return x + k end end)(5)
local step, current = counter(100)
xdp.attach(function(pkt)
  local n, m = pkt:getuint8(0), pkt:getuint8(1)
  print(bump(n), bump(1), add5(n), step(n), current())
  local inc, get = counter(m)
  local inc2 = counter(m)
  print(inc(n), inc(1), get(), inc2(1))
  local fs = {}
  for i = 1, 3 do local j = i * n fs[i] = { get = function() return i, j end, set = function(v) j = v end } end
  fs[2].set("changed")
  for i = 1, 3 do print(fs[i].get()) end
  local k, gs = 0, {}
  while k < 3 do local own = k gs[k] = function() own = own + n k = k + 10 return own, k end k = k + 1 end
  print(gs[0](), gs[0](), gs[1](), k)
  local function compose(f, ...) if not f then return function(...) return ... end end
    local rest = compose(...)
    return function(...) return f(rest(...)) end
  end
  print(compose(add5, inc, function(x) return x * 2 end)(m))
  local function curry(f, a) return function(...) return f(a, ...) end end
  print(curry(curry(math.max, n), m)(2), curry(string.rep, "ab")(n % 4))
  local value = n
  local function set(v) value = v end
  local function read() return value end
  set(read() + 1)
  value = value * 2
  print(read(), value)
  local y = (function() local up = m return function() up = up - 1 return up > 0 and up or "end" end end)()
  print(y(), y(), y())
end)
