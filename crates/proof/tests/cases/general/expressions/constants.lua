-- Operators with constants, of which the compiler makes instructions of their own.
-- frames: tcp udp
local xdp = require "xdp"
local action = require "linux.xdp"

local zeros = { -0.0, 0.0, 0, 5 }

local function sign(x) return 1 / x > 0 and "positive" or "negative" end

local function less_zero(a) return a - 0 end
local function less(a, b) return a - b end
local function more_zero(a) return a + 0 end

local kinds = { __lt = function(a, b) return math.type(a) == "float" or math.type(b) == "float" end }
kinds.__le = kinds.__lt
kinds.__sub = function(_, b) return "less " .. b end
kinds.__add = function(_, b) return "more " .. b end
local object = setmetatable({}, kinds)

local function argument(k, ...t) return t[k] end

local loop = {}
setmetatable(loop, { __index = loop, __newindex = loop })

xdp.attach(function(pkt)
  local first = #pkt >> 20
  -- -0.0 - 0 is 0.0: the compiler adds 0.
  for i = 1, #zeros do
    local x = zeros[first + i]
    print(i, sign(less_zero(x)), sign(less(x, first)), sign(more_zero(x)))
  end
  local x = zeros[first + 1]
  print(sign(x - 0), sign(x - first), pcall(function() return ("x" .. first) - 0 end))
  print(object - 0, object + 0, object - 1, pcall(function() return { first } - 0 end))
  -- Metamethods get the float that stands there.
  print(object < 2.0, object < 2, object <= 2.0, object <= 2, object > 2.0, object > 2, object >= -3.0, object >= -3)
  print(#pkt < 2.0, #pkt > 2.0, #pkt <= -1.0, #pkt >= 60.0)
  print(argument(2.0, "a", "b"), argument(2, "a", "b"), argument(2.5, "a", "b"), argument(3.0, "a", "b"), argument(first + 1.0, "a"))
  local text = tostring(setmetatable({}, { __tostring = function() return #pkt end }))
  print(math.type(text), type(text), text)
  print(pcall(function() return loop.field end), pcall(function() loop.field = 1 end))
  print(pcall(function() local step = utf8.codes() return step end))
  return action.DROP
end)
