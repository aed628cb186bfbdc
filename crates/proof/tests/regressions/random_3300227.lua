-- Random program 3300227, made small: MH0407 has functions the limit is.
-- frames: hex:fb2127f2e55f52eb811b5f4a7c52744fb0b3c55743f49e9da13d00c30ab67a6dd0653a50835bbcb3a32d4d91919e925e52c71eabf25926745acbd9cafcd4ae9cda6946a8102062620fb54b591175e95e19d4481c89
local xdp = require "xdp"
local function compose(f, g)
  return function(x) return f(g(x)) end
end
local function join(list)
  local all = {}
  for i = 1, #list do all[i] = tostring(list[i]) end
  return table.concat(all, ",")
end
local function sorted(fields)
  local all = {}
  for k, v in pairs(fields) do all[#all + 1] = tostring(k) .. "=" .. tostring(v) end
  table.sort(all)
  return table.concat(all, " ")
end
local function outcome(ok, ...)
  local e = ...
  if type(e) == "table" then return ok, "table", (rawget(e, "code")) end
  return ok, ...
end
local function value(x)
  if type(x) == "table" then return rawget(x, "v") or 0 end
  return tonumber(x) or 0
end
local l6 = { 9, (0x80000000), 1, (7), (0x7fffffff) }
local r7 = { a = (math.mininteger), ["c"] = (0x7fffffff), [((0xffffffff) ~= (-8))] = (-2), [((0) > (-7))] = 21 }
local function make8(by)
  local count = by
  return function(x)
    return x + by
  end, function(x)
    count = count + x
    return count
  end
end
local g9, g10 = make8((7))
local C11 = { __name = "C11" }
C11.__index = function(_, key)
  return rawget(C11, key) or #tostring(key)
end
function C11.new(v)
  return setmetatable({ v = v }, C11)
end
local C13 = { __name = "C13" }
C13.__call = function(self, x, y)
  return value(self) + (x or 1) * (y or 2)
end
C13.__le = function(a, b)
  return value(a) <= value(b)
end
C13.__tostring = function(a)
  return "<" .. value(a) .. ">"
end
C13.__newindex = function(a, key, new)
  rawset(a, key, value(new) ~ 1)
end
local o15 = C11.new((100))
local function f16(d, a, b)
  if d <= 0 then
    return math.fmod((0xffff), (a | 1))
  end
  print(join(l6))
  return f16(d - 1, (8), d) + global_3
end
local f19
local function f18(d, a, b)
  if d <= 0 then
    return (select(-1, d, b))
  end
  local v20 = d
  return (t[a & 15] or 26) ~ f19(d - 1, math.max(0, s5:byte(1, -1)), math.abs((-256)))
end
function f19(d, a, b)
  return f18(d - 1, b, a)
end
xdp.attach(function(pkt)
  local n = #pkt
  math.randomseed((utf8.len(join({ (7), (1), (0x80000000) })) or (63)))
  local o21 = C13.new(u1)
  print(outcome(pcall(function()
    return (l6[1] or (-7)), ipairs()
  end)))
  local ok22, e23 = pcall(function()
    if (not (global_2 ~= (10))) then
      return select("#", nil, nil)
    end
    return (3), ((value((o15 >> global_3)) ~= (global_2 * n)) and (string.unpack(">I5", string.pack(">I5", (global_3 & ((1 << 40) - 1))))) or ({ x = { y = { global_3, global_2 } } }).x.y[1 + 1])
  end)
  print(ok22, type(e23), ok22 and e23 or type(e23) == "string" and #e23)
  local v24 = f18((math.floor(u1) & 7), math.max(0, (short(("10"):rep((utf8.codepoint(utf8.char((u1 & 0x1ffff | 32)), 1) & 3))):gsub("^(%W?)", "%%")):byte(1, -1)), pkt:getint64((((0xffffffff) - n) % (n - 7))))
  for i25 = 1, ((select(2, ("\0\1\255"):gsub("%x*/o", ""))) & 7) do
    do
      v24 = pkt:getuint16(1)
      local l27 = table.create(0, 2)
    end
    ::next26::
  end
  if (not ((n & (10)) ~= value((o21 + (0x80000000))))) then
    local ws28 = {}
    for word in short(("\0\1\255"):upper()):gmatch("[^,]+") do
      ws28[#ws28 + 1] = word
    end
    local v29 = (f16(((math.type(n) == "integer" and n or 0) & 7), (global_2 ~ v24), (f16((v24 & 7), global_2, global_2))))
    print(pkt:getstring(((({ c = 0, [v24 & 0xff] = global_3, [(100) & 0xff] = u1 }).v or global_3) & 7), (pkt:getbyte(1) & 7)), tostring(pkt):sub(((l6[((select(-2, (-8), 12)) & 7)] or (-1)) & 15), (string.packsize("I3") & 15)), (#pkt > 82 and pkt:getuint8(82) or (-12)))
  else
    local r30 = { count = (global_2 % 5), [(o15 == (l6[4] or 21))] = n, [(tostring(((u1 >= n) or (v24 ~= u1))) == ("%q:"):format((s5:gsub("\0", ""))))] = (math.ult(#pkt:getstring(6, ((global_3 << 9) & 7)), table.pack(global_3, global_3, n).n) and v24 or n) }
  end
  local r32 = { count = 0 }
  local d31 = setmetatable({ a = 1 }, { __index = r32, __newindex = r32 })
  d31.a, d31.b, d31[(o21.v & 3)] = (l6[(((("\0\1\255"):match("%w+") or ("hello world")):byte(1) or 23) & 7)] or (-256)), value((u1 + o21)), n
  print(sorted(r32), d31.a, rawget(d31, "b"), d31.b)
  print(s5:gsub("[a-f]-%a?%%+l", "%%"))
  local v34 = (pkt:getuint16(6) - compose(function(x33)
    return (t[((r32).v or (0)) & 15] or (19 ~ u1))
  end, g10)(((8) | u1)))
  local function down35(from, by)
    return function()
      from = from - 1
      if from >= 0 then
        return from, from ~ by
      end
    end
  end
  for i36, v37 in down35((u1 & 7), o15[v34]) do
    if i36 > 8 then break end
    print(outcome(pcall(assert, (pkt.ip ~= nil), ({ x = { y = { (0x80000000), v37 } } }).x.y[1 + 0], (v34 + u1))))
    local v39 = ((~ (#pkt > 82 and pkt:getuint8(82) or (8))) << 42)
    local b40 = (((r32).GET or v37) >= (s5:find(("  trim me  "), (-((pkt.udp and pkt.udp.sport or (-1)) & 15)), true) or 17))
  end
  local packed41 = string.pack(">s2 c12 h", s5, ("-7"):sub(1, 12), ((string.unpack("=H", string.pack("=H", ((64) & ((1 << 16) - 1))))) & 100))
  print(#packed41, string.unpack(">s2 c12 h", packed41))
  return n & 3
end)
