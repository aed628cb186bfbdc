-- Fields of load-time tables that packet code assigns, wherever a field is looked for: through metatables that are such fields themselves, in traversals, by
-- raw access, as an operand, and with values of each type in turn.
-- frames: udp tcp udp6 tcp6 icmp udp*3 arp
local xdp = require "xdp"

local base = {name = "base", kind = 1}
local other = setmetatable({name = "other"}, {__index = function(t, key) return rawget(t, "name") .. "." .. key end})
local meta = {__index = base, __newindex = nil, __call = function(self, x) return x end}
local t = setmetatable({value = 1, last = nil, [1] = "one"}, meta)
local plain = {value = 1, name = "plain", more = false}
local chain = {next = plain}
local upvalue
global = "begin"

local function changing(n)
  local kinds = {n, n + 0.5, "text", true, false, base, changing, 1 << 62}
  return kinds[n % 9 + 1]
end

local function all(of)
  local names = {}
  for key, value in pairs(of) do names[#names + 1] = tostring(key) .. ":" .. type(value) end
  table.sort(names)
  return table.concat(names, " ")
end

local function exclaim(_, key) return key .. "!" end
local function tell(_, key, assigned) print("assigned", key, type(assigned)) end

local n = 0
xdp.attach(function(pkt)
  n = n + 1
  local value = changing(n)
  print(n, "before", type(t.value), t.last, t.kind, type(plain.value), type(upvalue), type(global))
  plain.value, upvalue, global = value, value, value
  t.value = value
  t.last = n % 2 == 0 and n or nil
  print(t.value == value, rawequal(rawget(t, "value"), value), rawget(t, "last"), t.kind, t.absent)
  print(plain.value == upvalue, global == upvalue, type(chain.next.value), all(plain), all(t))
  print(pcall(function() return plain.value + 1 end))
  print(pcall(function() return plain.more .. upvalue end))
  print(pcall(function() return upvalue.name end))
  if n == 3 then meta.__index = other end
  if n == 4 then meta.__index = exclaim end
  if n == 5 then base.name, meta.__index = "changed", base end
  if n == 6 then meta.__newindex = tell end
  if n == 7 then chain.next = other end
  print(t.name, t.kind, t.nothing, chain.next.name, type(chain.next.more))
  plain.more = n % 3 == 0 and plain or nil
  t.value = nil
  print(next(plain) ~= nil, #t, t[1], plain.more == plain, t.value)
  return 2
end)
