-- Small functions that compute with integers, called with integers and with all else.
-- frames: tcp udp
local xdp = require "xdp"
local action = require "linux.xdp"

local shifted, mask = 5, 0xffffffff

local function rotate(x, n) return (x >> n | x << 32 - n) & 0xffffffff end
local function add(a, b) return a + b end
local function chain(a, b)
  local c = a * 3 - b
  local d = c ~ a & mask
  return d << 2 | b
end
local function negative(a) return -a end
local function complement(a) return ~a end
local function left(a) return 1 << a end
local function by_constant(a) return (a >> 3) + (a << 7) + (a << 64) + (a >> -2) + (a << -4) end
local function by_variable(a, n) return (a << n) - (a >> n) end
local function captured(a) return a << shifted | a >> 64 - shifted end
local function constant() return 7 end
local function same(a) return a end
local function second(a, b) return b end
local function large(a) return a + 0x123456789abcdef end
local function extra(a, ...) return a + 1 end
local function less_zero(a) return a - 0 end

local kinds = {}
for _, name in ipairs { "add", "sub", "mul", "band", "bor", "bxor", "shl", "shr", "unm", "bnot" } do
  kinds["__" .. name] = function() return name end
end
local object = setmetatable({}, kinds)

xdp.attach(function(pkt)
  local n = #pkt
  local zero = n >> 20
  for _, a in ipairs { 0, 1, -1, 5, 0x80000000, math.maxinteger, math.mininteger, n } do
    print(a, rotate(a, 7), rotate(a, zero + 7), add(a, n), chain(a, n), negative(a), complement(a))
    print(left(a), by_constant(a), by_variable(a, 3), by_variable(a, 64), by_variable(a, -3), by_variable(a, zero + 64), by_variable(a, zero - 3))
    print(captured(a), constant(), same(a), second(a, a), second(nil, a), large(a), extra(a, 2), less_zero(a))
  end
  -- What is no integer.
  print(add(1, 2.0) == 3, add("10", n) == n + 10, rotate("16", 4), rotate(16.0, 4), left("3"), negative("4"), same("text"), second({}, "b"))
  print(add(object, 1), add(1, object), negative(object), complement(object), left(object))
  print(pcall(add, nil, 1), pcall(function() return add(nil, n) end), pcall(function() return add(n) end))
  print(pcall(function()
    local x = add({}, n)
    return x
  end))
  print(pcall(function()
    local x = rotate(1.5, n)
    return x
  end))
  print(pcall(function()
    local x = rotate("x", n)
    return x
  end))
  -- Other numbers of arguments and results.
  print((add(n, 1, 2)), (same()), (constant(1)), select("#", add(n, 1)), add(n, add(n, 1)), add(add(1, n), add(n, n)))
  local x, y = add(n, 1)
  print(x, y)
  local sum = 0
  for i = 1, 50 do
    sum = add(sum, rotate(i, i))
    if sum > 1 << 40 then sum = negative(sum) end
  end
  print(sum)
  return add(n, 1) % 2 == 0 and action.DROP or action.PASS
end)
