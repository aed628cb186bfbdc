-- Drops datagrams whose score, which three classes compute, is above a threshold.
local xdp = require "xdp"
local action = require "linux.xdp"

local function two_bytes(pkt, at)
  return pkt:getuint8(at) * 256 + pkt:getuint8(at + 1)
end

local function class(base)
  local made = {}
  made.__index = made
  if base then setmetatable(made, { __index = base }) end
  function made.new(...)
    local object = setmetatable({}, made)
    object:init(...)
    return object
  end
  return made
end

local Rule = class()

function Rule:init(weight)
  self.weight, self.hits = weight, 0
end

function Rule:score(pkt)
  if self:matches(pkt) then
    self.hits = self.hits + 1
    return self.weight
  end
  return 0
end

local Port = class(Rule)

function Port:init(weight, port)
  Rule.init(self, weight)
  self.port = port
end

function Port:matches(pkt)
  return two_bytes(pkt, 36) == self.port
end

local Length = class(Rule)

function Length:init(weight, least, most)
  Rule.init(self, weight)
  self.least, self.most = least, most
end

function Length:matches(pkt)
  local length = two_bytes(pkt, 38)
  return length >= self.least and length <= self.most
end

local All = class()

function All:init()
  self.rules, self.count = {}, 0
end

function All:add(rule)
  self.count = self.count + 1
  self.rules[self.count] = rule
  return self
end

function All:total(pkt)
  local total = 0
  for i = 1, self.count do
    total = total + self.rules[i]:score(pkt)
  end
  return total
end

xdp.attach(function(pkt)
  local all = All.new()
  all:add(Port.new(3, 5060)):add(Port.new(2, 53)):add(Length.new(4, 100, 200)):add(Length.new(1, 8, 1400))
  for _ = 1, 4 do
    all:total(pkt)
  end
  return all:total(pkt) > 5 and action.DROP or action.PASS
end)
