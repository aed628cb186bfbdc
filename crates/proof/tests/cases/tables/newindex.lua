-- Assignments to tables with `__newindex`: where there is nothing, the function is called, or the table assigned to.
-- frames: tcp udp hex:000102030405060708090a0b0c0d
local xdp = require "xdp"

local log = { __index = function(_, key) return "none " .. key end, __tostring = function(self) return "log of " .. self.size end }
log.__newindex = function(self, key, value)
  self.size = self.size + 1
  if key ~= "secret" then rawset(self, key, value) end
end
local kept = setmetatable({ size = 0 }, log)

xdp.attach(function(pkt)
  local first = pkt:getbyte(0)
  local made = setmetatable({ size = 0, known = 1 }, log)
  made.known = first
  made.a = 1
  made.secret = 2
  made.a = 3
  if first == 0 then made.b = 4 end
  made.b = 5
  print(made.size, made.known, made.a, made.b, made.secret, tostring(made))
  made.a = nil
  made.a = 6
  made[3] = pkt:getbyte(1)
  print(made.size, made.a, made[3], made[4])
  local behind = {}
  local front = setmetatable({ own = 1 }, { __newindex = behind })
  front.own, front.other = 2, first
  print(front.own, front.other, behind.own, behind.other)
  local either = first == 0 and made or {}
  either.c = first
  print(either.c, made.size)
  kept.size = kept.size + 1
  print(kept.size)
end)
