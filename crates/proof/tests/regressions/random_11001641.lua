-- Random program 11001641, made small: the verifier walked a unit once for every combination of spill slots that had been written: too large.
-- frames: hex:3f3e7a76ffe28c15535bea1f803fa66599eb77a3dd64cd52796fad305475ce5f747107858ae9e37be57140f14801591550f1cfc9f083d523d26aa372219c46a0c38191a025aebd09635e62c4bc6760473ef9bf63ac454a2630a3a00fd0b16461aa3f1ba41bd18a67bab65df5c7172a910fdc95387edd
local xdp = require "xdp"
global_3, global_4 = 25, -7
local u1, u2 = 12, 3
local s6 = "  trim me  "
local l7 = { 8, 63, -9, -11, 7 }
local r8 = { key = 4, GET = 2 }
local t = { 1, 2 }
function global_5(x) return x end
local function apply(f, ...)
  return f(...)
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
local function closing_anywhere(name)
  return setmetatable({}, { __close = function(_, e) print("close", name, e ~= nil) end })
end
local function count(...)
  return select("#", ...), ...
end
local function short(s)
  return #s > 40 and s:sub(1, 40) or s
end
local function make9(by)
  local count = by
  return function(x)
    return x + by
  end, function(x)
    count = count + x
    return count
  end
end
local g10, g11 = make9((8))
local C12 = { __name = "C12" }
C12.__index = function(_, key)
  return rawget(C12, key) or #tostring(key)
end
function C12.new(v)
  return setmetatable({ v = v }, C12)
end
function C12:get(a)
  global_4 = global_4 + (global_3 | (-7))
  return self.v + (l7[(((-256) | u2) & 7)] or (0xffff))
end
local o13 = C12.new((2))
local function f14(p15, p16, p17, p18)
  return select("#", nil, nil), (math.max(0, table.unpack(l7)) + apply(function(x19, x20)
    return 6
  end, p16, p16))
end
local f22
local function f21(d, a, b)
  if d <= 0 then
    return b
  end
  local r23 = { a = (1), b = b, [(d > (-256))] = d }
  return f22(d - 1, a, 12) + global_4
end
function f22(d, a, b)
  return f21(d - 1, b, a)
end
local function f24(p25, p26, p27, p28, p29, ...)
  if (global_3 == p26) then
    do
      local step, state, start = ipairs(l7)
      for i30, v31 in step, state, start, closing_anywhere("loop i30") do
        if i30 > 8 then break end
        local packed33 = string.pack("<s2 c12 h", ("  trim me  "), p27:sub(1, 12), ((0xffffffff) & 100))
        print(#packed33, string.unpack("<s2 c12 h", packed33))
      end
    end
  elseif ((3) ~= u1) then
  else
  end
  return p25
end
xdp.attach(function(pkt)
  local n = #pkt
  math.randomseed((table.unpack(l7, ((global_3 % 2) & 3)) or (-256)))
  local o34 = o13
  local v35, v36 = count((~ (64)), ((r8)[(#l7 & 0xff)] or (-256)))
  print(count((~ (64)), ((r8)[(#l7 & 0xff)] or (-256))), (count((~ (64)), ((r8)[(#l7 & 0xff)] or (-256)))), count(count((~ (64)), ((r8)[(#l7 & 0xff)] or (-256))), count((~ (64)), ((r8)[(#l7 & 0xff)] or (-256)))))
  print(v36, count(v35, (~ (64)), ((r8)[(#l7 & 0xff)] or (-256)), nil))
  local packed37 = string.pack("<zI3", (string.format(("%s, %8.3d"), (o13.v > (rawget(r8, ("key" .. ((v35 >> v35) & 7))) or global_4)), n):gsub("\0", ".")), (global_4 & 100))
  print(#packed37, string.unpack("<zI3", packed37))
  do
    local h38 <close> = closing_anywhere(global_5((0x80000000)))
    print(outcome(pcall(function()
      print(sorted(r8))
      return pkt:getint8((table.pack((100), 15, n).n % (n - 0))), (l7[(u2 & 7)] or (63))
    end)))
    local h39 <close> = closing_anywhere((u1 | global_3))
    print(string.format(("%i%q%s "), math.max(0, table.unpack(l7)), table.pack((64), n, global_4).n, (C12.new(global_3) == o34)), (pkt.payload and pkt.payload or "none"):sub(1, 20), pkt:getstring(((#pkt > 56 and pkt:getuint8(56) or (8)) & 7), 3))
  end
  local function va40(...)
    local sum = 0
    for i, v in ipairs { ... } do
      sum = sum + i * v
    end
    return sum
  end
  print((va40((short((("\u{e4}\u{20ac}\u{1f600}") .. 7 .. ("\u{e4}\u{20ac}\u{1f600}"))):find("%s+[%w_]+(%W)") or (64)), (next(r8) == nil and 1 or (0x80000000)), (short(("%d$^.*"):rep(1, ", ")):find("()%1") or (2)))), va40(n))
  local v41 = (({  }).key or global_4)
  local g42, g43
  do
    local v44 = ((0xffffffff) ~ v35)
    g42 = function(x)
      return v44 - x
    end
    g43 = function(x)
      v44 = v44 * 3 + x
      return v44
    end
  end
  g43((t[(-1) & 15] or (-4)))
  u1 = pkt:getbyte(1)
  for i45 = math.mininteger + ((~ (-256)) & 3), math.mininteger, -1 do
    local g47, g48
    do
      local v49 = apply(function(x50, x51)
        return #utf8.char((x51 & 0xfff | 32))
      end, u1, v35)
      g47 = function(x)
        return v49 - x
      end
      g48 = function(x)
        v49 = v49 * 3 + x
        return v49
      end
    end
    g48((select(2, short(s6):gsub(",(%d-)\0$", ""))))
    local v52 = ({ x = { y = { ((l7[(((tostring(v35) > (s6 .. o13 .. 18)) and (math.maxinteger) or v41) & 7)] or 6) // 1000003), pkt:getint16(((n * i45) & 7)) } } }).x.y[1 + ((string.unpack("=J", string.pack("=J", (v41 & ((1 << 62) - 1))))) & 1)]
  end
  print(((u2 | 12) << 18), math.ult(value((global_4 & C12.new(19))), pkt:getint64(((((n ~= v41) or (v41 ~= (10))) and (math.maxinteger) or n) & 6))))
  local k53, k54 = {}, function() end
  local m55 = { [k53] = math.max(global_3, v41), [k54] = pkt:getint16(((- v41) & 7)), [print] = 7, [(n < global_3)] = 8 }
  m55[k53] = (m55[k53] or 0) + 1
  print(m55[k53], m55[k54], m55[{}], m55[true], m55[print], m55[1])
  print((table.unpack(l7, ((global_4 ~ n) & 3)) or (math.mininteger)), f21(((s6:byte(((table.pack(global_4, v41, global_3).n == (l7[5] or 16)) and 19 or v35)) or 24) & 7), (tonumber(((tonumber((pkt:getuint8(7) & 255) .. "", 16) or 4) & 255) .. "", 16) or global_3), (sorted({ count = v35 }):find(tostring((short((o34 .. ("aaaaab"))):match("^(%p?)"))), 8, true) or (0))))
  print(type(math.ult(#("abc"):sub((-(g11(9) & 15)), (-((f24(global_4, (0), s6, l7, r8, v35, global_4)) & 15))), ((n .. "") // (v41 | 1)))), f14((((join(table.create(2, (global_4 & 3))):find((("x\ny\tz") .. C12.new((0xffffffff)) .. v41), (l7[((u2 + v35) & 7)] or (math.mininteger)), true) or (-5)) >= ((r8).GET or global_3)) and global_3 or (10)), (select("#", table.unpack(l7))), l7, { [n & 0xff] = (12 - v41), count = math.random(1 + (math.max(0, table.unpack(l7)) & 15)), GET = pkt:getint64((math.ceil(v35) & 6)) }))
end)
