-- Metamethods of arithmetic and bitwise operators (manual § 2.4): operand on either side, first operand's metamethod first.
-- frames: hex:0305fe00000000000000000000000000 hex:ff0100000000000000000000000000000000 hex:80070000000000000000000000000000
local xdp = require "xdp"
local function show(x) return type(x) == "table" and "<" .. x.name .. ">" or tostring(x) end
local function named(name)
  return function(a, b) return name .. "(" .. show(a) .. "," .. show(b) .. ")" end
end
local meta = {}
for _, name in ipairs { "add", "sub", "mul", "idiv", "mod", "band", "bor", "bxor", "shl", "shr", "unm", "bnot" } do
  meta["__" .. name] = named(name)
end
local other = { __add = named "other add", __shl = named "other shl" }
local function value(name) return setmetatable({ name = name }, meta) end
xdp.attach(function(pkt)
  local n, m = pkt:getint8(0), pkt:getuint8(1)
  local a, b = value("a" .. n), value "b"
  local c = setmetatable({ name = "c" }, other)
  print(a + b, a + n, n + a, a + 1, 1 + a, a + "x", "x" + a)
  print(a - n, n - a, a * m, m * a, a // n, n // a, a % m, m % a)
  print(a & n, n & a, a | 1, 1 | a, a ~ m, m ~ a, a << n, n << a, a << 1, 1 << a, a >> n, n >> a, a >> 1, 1 >> a)
  print(-a, ~b, a + c, c + a, c << a, a << c, n << c)
  print(a + nil, nil + a, a + true, { name = "bare" } + a, a << "x")
  print(pcall(function() return { name = "bare" } + n end))
  print(pcall(function() return c - n end))
  print(pcall(function() return n & c end))
  print(select("#", a + b), (a + b), #(a + b))
end)
