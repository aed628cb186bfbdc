-- Variable arguments in every place, adjusted or not; named vararg parameters of Lua 5.5 (manual § 3.4.11, § 3.4.12).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000
local xdp = require "xdp"
local function pass(...) return ... end
local function count(...) return select("#", ...), ... end
local function named(first, ...rest)
  local sum = 0
  for i = 1, rest.n do sum = sum + (rest[i] or 0) end
  return first, rest.n, sum, ...
end
local function changed(...args)
  args[1], args.n = "changed", args.n
  args[args.n + 1] = "more"
  return args.n, args[1], args[2], select("#", ...)
end
local function collect(...) local a, b, c = ... return c, b, a, { ... }, (...) end
xdp.attach(function(pkt)
  local n, m = pkt:getuint8(0), pkt:getuint8(1)
  print(count(), count(nil), count(n, nil, nil), count(pass()), count(pass(n, m)), count(pass(n, m), m))
  print(named(), named(n), named(n, m, nil, 4))
  print(changed(n, m), changed(n))
  local c, b, a, t, first = collect(n, m)
  print(a, b, c, #t, first)
  print(select("#"), select("#", nil), select(1, n, m), select(2, n, m), select(3, n, m), select(-1, n, m), select(-2, n, m))
  print(pcall(select, 0, n), pcall(select, -3, n, m))
  print(pcall(select, -3, n, m))
  print(pcall(select))
  print(pcall(select, "x"))
  print(select("2", n, m), select(n % 3 + 1, "a", "b", "c"))
  print((function(...) local x <const> = ... return x end)(n, m), (function(...) return select("#", ...) end)(table.unpack({}, 1, n)))
  local packed = table.pack(pass(n, nil, m, nil))
  print(packed.n, packed[1], packed[2], packed[3], packed[4])
  local function closure(...) local args = { ... } return function(i) return args[i] end end
  print(closure(n, m)(2), closure(n)(2))
  local function recursive(k, ...) if k == 0 then return ... end return recursive(k - 1, k, ...) end
  print(recursive(n % 6))
  local s = 0
  for i, v in ipairs { pass(n, m, n) } do s = s + i * v end
  print(s, math.max(pass(n, m, 7)), string.char(pass(n + 64, m + 64)), ("%d-%d"):format(pass(n, m, "extra")))
end)
