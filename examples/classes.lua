-- A small firewall whose rules are objects: each class says with a method whether a rule matches a frame, and what then.
--
-- Classes are tables with a metatable, as everywhere in Lua: a field that an object lacks is looked up in its class, and what
-- the class lacks in the class that it extends. The rules are built while the script is loaded; the handler, in the kernel, asks
-- them one after another, and builds objects of its own for what it finds.
local xdp = require "xdp"
local action = require "linux.xdp"

-- A new class. Calling it makes an object, for which `init` is called.
local function class(parent)
  local new = {}
  new.__index = new
  return setmetatable(new, {
    __index = parent,
    __call = function(self, ...)
      local object = setmetatable({}, self)
      object:init(...)
      return object
    end,
  })
end

-- What all rules have in common: a name and a verdict.
local Rule = class()

function Rule:init(name, verdict)
  self.name = name
  self.verdict = verdict
end

function Rule:matches()
  return false
end

-- Datagrams to a range of ports.
local Ports = class(Rule)

function Ports:init(name, verdict, first, last)
  Rule.init(self, name, verdict)
  self.first, self.last = first, last
end

function Ports:matches(pkt)
  local udp = pkt.udp
  return udp and udp.dport >= self.first and udp.dport <= self.last
end

-- The same, but only for payloads that begin with a text. It extends Ports, whose method it calls first.
local Prefix = class(Ports)

function Prefix:init(name, verdict, first, last, prefix)
  Ports.init(self, name, verdict, first, last)
  self.prefix = prefix
end

function Prefix:matches(pkt)
  return Ports.matches(self, pkt) and pkt.payload:sub(1, #self.prefix) == self.prefix
end

local rules = {
  Prefix("health checks", action.PASS, 5000, 5999, "PING"),
  Prefix("probes", action.DROP, 1, 1023, "\0\0\0\0"),
  Ports("internal services", action.DROP, 5000, 5999),
}

-- What is found out about one frame. Objects of this class are made at packet time; tostring asks them for their text.
local Finding = class()

function Finding:init(rule, pkt)
  self.rule = rule
  self.source = pkt.ip.src
end

function Finding:__tostring()
  return self.rule.name .. " from " .. self.source
end

xdp.attach(function(pkt)
  for _, rule in ipairs(rules) do
    if rule:matches(pkt) then
      local finding = Finding(rule, pkt)
      if rule.verdict == action.DROP then
        print("dropped: " .. tostring(finding))
      end
      return rule.verdict
    end
  end
  return action.PASS
end)
