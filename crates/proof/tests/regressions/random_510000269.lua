-- Random program 510000269, made small: general code: error "bad value for table last int expected got other fields" where real Lua has "none".
-- frames: hex:ffb037937de3cf20daeecdbd6ab39d35c01004d454bed50613a3d0d54ca6e32f8306378964f449f4ee63f62c74716255c06f7900eb0b89d63bf8c6331e293835a6342271e3f3b226f13865bd56f74b95dd3aff47bc5b1c54137811041a418f8b4e12fc8200f2adcbecb345060db0490ebd80c627e65f74d771a37b83602e57a911c26183445bf80e87d0a71f956586077fd49b659a38e97915842b25c5f5872208ccc34d74806451630977f169a4ea102f321a5c74e5
local xdp = require "xdp"
local function apply(f, ...)
  return f(...)
end
local function join(list)
  local all = {}
  for i = 1, #list do all[i] = tostring(list[i]) end
  return table.concat(all, ",")
end
local function outcome(ok, ...)
  local e = ...
  if type(e) == "table" then return ok, "table", (rawget(e, "code")) end
  return ok, ...
end
local function value(x)
  if type(x) == "table" then return rawget(x, "v") or 0 end
  if type(x) == "string" and (#x > 18 or x:find("[.eEpP]")) then return 0 end
  return tonumber(x) or 0
end
local function count(...)
  return select("#", ...), ...
end
local u1 = (7)
local t = { 3, -1, 255, 4096, 7, 0, -128, 1 << 40 }
global_2 = 8
global *
global global_3 = (-8)
function global_4(x)
  return u1
end
local s5 = ("-7")
local l6 = { 10, (256), (0x7fffffff), (-8), (10) }
local r7 = { [((1) ~= (3))] = (-8), ["v"] = 5 }
local function make8(by)
  local count = by
  return function(x)
    return x + by
  end, function(x)
    count = count + x
    return count
  end
end
local g9, g10 = make8((256))
local hits11 = {}
local hits12 = {}
local rules13 = { [6] = function(pkt, x14)
  return ((r7).count or x14)
end, [17] = function(pkt, x15)
  local g16 = (math.tointeger(global_2) ~= pkt:getuint16(((#pkt > 24 and pkt:getuint8(24) or (-5)) & 7))) and g9 or function(x17)
    return pkt:getuint8(11)
  end
  return (l6[(global_2 & 7)] or (-256))
end, [1] = function(pkt, x18)
  return (("\u{e4}\u{20ac}\u{1f600}"):find(s5, ("0x1F" + global_2), true) or (0xffffffff))
end, tcp = function(pkt, x19)
  local k20 <const> = #{ [1] = global_3, [2] = u1, n = (-12) }
  return (l6[0] or (0xffff))
end, udp = function(pkt, x21)
  return u1
end }
local C22 = { __name = "C22" }
C22.__index = function(_, key)
  return rawget(C22, key) or #tostring(key)
end
function C22.new(v)
  return setmetatable({ v = v }, C22)
end
C22.__idiv = function(a, b)
  return C22.new(value(a) // (value(b) | 1))
end
function C22:get(a)
  print(outcome(pcall(select, 1, (-256))))
  return self.v + global_2
end
local C23 = { __name = "C23" }
C23.__index = C23
function C23.new(v)
  return setmetatable({ v = v }, C23)
end
function C23:get(a)
  local tree24 = { value = global_3, left = { value = self.v }, right = { { global_2 }, value = 3 } }
  tree24.right.value = tree24.right.value + tree24.value
  tree24.left.left = tree24.right
  print(tree24.left.value, tree24.left.left.value, tree24.left.left[1][1], tree24.left.left == tree24.right, tree24.right.left)
  return self.v + self.v
end
local function f25(d, a, b)
  if d <= 0 then
    return (l6[((select(-1, global_3, b)) & 7)] or 24)
  end
  local b27 = (#l6 > ((s5:find(("x\ny\tz"), 2, true) or (0xffff)) & 7))
  return f25(d - 1, ((1 << 40) % 1000003), d)
end
local function f28(p29, p30, ...)
  return (math.ult((12 - (100)), (select(-1, global_2, p29))) and (- p30) or (s5:reverse():find(string.sub(s5, (-5)), g10(p30), true) or (1)))
end
xdp.attach(function(pkt)
  local n = #pkt
  math.randomseed(global_2)
  local v31, v32 = count((t[u1 & 15] or global_2), math.max(0, (s5 .. s5):byte(1, -1)))
  print(count((t[u1 & 15] or global_2), math.max(0, (s5 .. s5):byte(1, -1))), (count((t[u1 & 15] or global_2), math.max(0, (s5 .. s5):byte(1, -1)))), count(count((t[u1 & 15] or global_2), math.max(0, (s5 .. s5):byte(1, -1))), count((t[u1 & 15] or global_2), math.max(0, (s5 .. s5):byte(1, -1)))))
  print(v32, count(v31, (t[u1 & 15] or global_2), math.max(0, (s5 .. s5):byte(1, -1)), nil))
  print((s5:reverse() .. global_3 .. ("abc")))
  local fs33 = { a = function(x34, x35)
    return (- 4)
  end, b = function(x36, x37)
    print(_G.global_2, (_G.global_2 == global_2), rawget(_G, "never_set"), _ENV["global_2"])
    return v31
  end, c = function(x38, x39)
    return ((x39 >> x39) | (((math.mininteger) < (1)) and global_3 or u1))
  end }
  print(fs33[("abc"):sub(1 + ((select(-2, global_2, global_3)) & 2), 1 + ((select(-2, global_2, global_3)) & 2))]((f25((global_3 & 7), global_3, n)), #l6), fs33.b((0xffff), (8)))
  print(join(table.pack(C22.new(u1)[(8)], ((global_3 >= apply(function(x40, x41)
    local function va42(...)
      local sum = 0
      for i, v in ipairs { ... } do
        sum = sum + i * v
      end
      return sum
    end
    print((va42(x40, x40)), va42(x40, x41))
    return x40
  end, global_3, global_3)) and v31 or n))))
  print(outcome(xpcall(function()
    local k43, k44 = {}, function() end
    local m45 = { [k43] = math.max(0, table.unpack(l6)), [k44] = (7 & n), [print] = 7, [((("aaaaab") .. global_3 .. s5) >= s5)] = 8 }
    m45[k43] = (m45[k43] or 0) + 1
    print(m45[k43], m45[k44], m45[{}], m45[true], m45[print], m45[1])
    return (next(r7) == nil and 1 or (-12)), (global_4(global_3) % (global_3 - global_3))
  end, function(e)
    return type(e) .. "!"
  end, n)))
  do
    local key46 = (C23.new((255)).v & 15)
    hits11[key46] = { n = C22.new(global_3).v, last = (v31 % 255) }
    print(hits11[key46].n, hits11[key46].last)
  end
  local v47 = (#pkt > 39 and pkt:getuint8(39) or (-256))
  local v47_bits = pkt:getint32(7)
  if v47_bits & 0x1 ~= 0 then
    v47 = v47 + (-256)
  end
  if v47_bits & 0x2 ~= 0 then
    v47 = v47 + (0xffff)
  end
  if v47_bits & 0x4 ~= 0 then
    v47 = v47 ~ (0xffff)
  end
  if v47_bits & 0x8 ~= 0 then
    v47 = v47 + (0xffff)
  end
  if v47_bits & 0x10 ~= 0 then
    v47 = v47 + 18
  end
  if v47_bits & 0x20 ~= 0 then
    v47 = v47 + (math.maxinteger)
  end
  if v47_bits & 0x40 ~= 0 then
    v47 = v47 ~ 4
  end
  if v47_bits & 0x80 ~= 0 then
    v47 = v47 + (0x7fffffff)
  end
  if v47_bits & 0x100 ~= 0 then
    v47 = v47 ~ (-1)
  end
  if v47_bits & 0x200 ~= 0 then
    v47 = v47 ~ (10)
  end
  if v47_bits & 0x400 ~= 0 then
    v47 = v47 + (0)
  end
  if v47_bits & 0x800 ~= 0 then
    v47 = v47 + (-256)
  end
  if v47_bits & 0x1000 ~= 0 then
    v47 = v47 ~ (255)
  end
  if v47_bits & 0x2000 ~= 0 then
    v47 = v47 ~ (-256)
  end
  if v47_bits & 0x4000 ~= 0 then
    v47 = v47 + (-1)
  end
  if v47_bits & 0x8000 ~= 0 then
    v47 = v47 + (-2)
  end
  if v47_bits & 0x10000 ~= 0 then
    v47 = v47 + (2)
  end
  if v47_bits & 0x20000 ~= 0 then
    v47 = v47 + 24
  end
  if v47_bits & 0x40000 ~= 0 then
    v47 = v47 + 14
  end
  if v47_bits & 0x80000 ~= 0 then
    v47 = v47 ~ (-1)
  end
  print(v47)
end)
