-- What general code does in place, and the cases around it that it leaves to routines.
-- frames: tcp udp
local xdp = require "xdp"
local action = require "linux.xdp"

local base = {}
base.__index = base
function base:name() return "base" end
function base:who() return self:name() .. "/" .. (self.own or "none") end
base.shade = "grey"
local class = setmetatable({}, base)
class.__index = class
function class:name() return "class" end

local function get(t) return t.x, t.y, t.shade end
local function put(t, v) t.x = v t.z = v return t.x, t.z end

xdp.attach(function(pkt)
  local n = #pkt
  -- Fields at other places, under keys that are made here, removed and back again.
  local key = ("abcx"):sub(n > 0 and 4 or 1)
  local all = { { x = 1, y = 2 }, { y = 3, x = 4 }, { [key] = 5 }, {}, { 1, 2, x = 6 }, setmetatable({ x = 7 }, class) }
  for round = 1, 3 do
    for i = 1, #all do print(round, i, get(all[i])) end
    all[1].x = nil
    all[2][key] = round
    all[4].y = all[3].x
    if round == 2 then all[3] = setmetatable({ y = 9 }, { __index = function(_, k) return k .. "!" end }) end
  end
  for i = 1, #all do print(i, put(all[i], i)) end
  print(pcall(put, setmetatable({}, { __newindex = function(_, k, v) print("new", k, v) end }), 1))
  print(pcall(put, class, 1))
  print(pcall(get, nil), pcall(get, 5), pcall(get, "text"))
  -- Methods: inherited, of the object itself, of tables made here.
  local object, other = setmetatable({ own = "o" }, class), setmetatable({}, base)
  for _, o in ipairs { object, other, object, setmetatable({ name = function() return "its own" end }, class) } do print(o:who(), o.shade) end
  object.name = function(self) return "changed " .. self.own end
  print(object:who())
  object.name = nil
  print(object:who())
  local made = setmetatable({}, { __index = setmetatable({ name = function() return "made" end }, base) })
  print(made:who(), pcall(function() return made:none() end))
  print(pcall(function() return object:byte(1) end), pcall(function() return (n):byte(1) end))
  local like = { byte = function(_, i) return "byte " .. i end, sub = function(_, i, j) return i .. j end }
  for _, s in ipairs { "abc", like, "" } do print(s:byte(2), s:sub(2, 3)) end
  -- Places within strings, and beyond.
  local text = "hello"
  for _, i in ipairs { 1, 5, 6, 0, -1, -5, -6, math.maxinteger, math.mininteger, 2.0 } do
    print(i | 0, text:byte(i), (text:sub(i)), (text:sub(1, i)), (text:sub(i, i)), (text:sub(i, 3)))
  end
  print(pcall(string.byte, text, 1.5), pcall(function() return text:sub("x") end), text:sub("2", 3), text:len(), #text, ("").byte(""))
  -- Elements.
  local list = { 1, 2, 3 }
  list[#list + 1] = 4
  list[2] = nil
  list[6] = 6
  list[5] = 5
  print(list[1], list[2], list[3], list[4], list[5], list[6], list[7], list[0], list[-1], list[2.0], list[1.0], list["1"])
  list[6] = nil
  list[5] = nil
  print(#list >= 3, list[5], list[6])
  local counted = setmetatable({ 1 }, { __newindex = function(t, k, v) rawset(t, k, v * 2) end, __len = function() return "long" end })
  counted[2] = 5
  counted[1] = 7
  print(counted[1], counted[2], #counted)
  print(pcall(function() list[nil] = 1 end), pcall(function() list[0 / 0] = 1 end))
  -- Numbers.
  for _, a in ipairs { 7, -7, 0, math.mininteger, math.maxinteger } do
    for _, b in ipairs { 3, -3, 1, 64, -1, 63, math.mininteger } do print(a % b, a // b, a << b, a >> b, a == b, a % 8, a // 3, a % 10) end
  end
  print(pcall(function() return n % 0 end), pcall(function() return n // (n - n) end), 7 % 2.5 == 2, "7" % 4, 1 << "2")
  -- Equality.
  local nan = 0 / 0
  print(nan == nan, 1 == 1.0, key == "x", key == "y", key == "xx", "" == key:sub(2), key:rep(9) == "xxxxxxxxx", key:rep(9) == "xxxxxxxxy", nil == false)
  return action.DROP
end)
