-- Drops datagrams whose weighted header bytes add up to an even number.
local xdp = require "xdp"
local action = require "linux.xdp"

local offsets = { 14, 15, 16, 17, 22, 23, 26, 27, 28, 29, 30, 31, 32, 33, 36, 37 }

local function counter()
  local sum = 0
  return function(by)
    sum = sum + by
    return sum
  end
end

local function compose(f, g)
  return function(x)
    return f(g(x))
  end
end

local function map(list, f)
  local result = {}
  for i = 1, #list do
    result[i] = f(list[i])
  end
  return result
end

xdp.attach(function(pkt)
  local add, count = counter(), counter()
  local weigh = compose(function(value)
    return value * 3 + count(1)
  end, function(at)
    return pkt:getuint8(at)
  end)
  local values = map(offsets, weigh)
  for i = 1, #values do
    add(values[i])
  end
  return add(0) % 2 == 0 and action.DROP or action.PASS
end)
