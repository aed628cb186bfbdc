-- The whole library in one handler: more functions than the kernel takes in one program, so that some are combined.
-- frames: udp:a-b,c tcp tls icmp udp6 vlan-tcp arp short
local xdp = require "xdp"
local list = { 5, 3, 9, 1 }
local point = {}
point.__index = point
for _, name in ipairs { "add", "sub", "mul", "mod", "idiv", "band", "bor", "bxor", "shl", "shr", "div", "pow" } do
  point["__" .. name] = function(a, b) return name end
end
function point.__unm() return "unm" end
function point.__bnot() return "bnot" end
function point.__concat(a, b) return "concat" end
function point.__len(a) return 7 end
function point.__eq(a, b) return a.x == b.x end
function point.__lt(a, b) return a.x < b.x end
function point.__le(a, b) return a.x <= b.x end
function point.__call(self, ...) return self.x, ... end
function point.__tostring(self) return "point " .. self.x end
function point.__close(self, e) print("closed", self.x, type(e)) end
function point.__pairs(self) return next, { x = self.x }, nil end
point.__newindex = function(t, k, v) rawset(t, k, v) end
point.__name = "point"
local function make(x) return setmetatable({ x = x }, point) end
local function try(...) return pcall(...) end

local function strings(s, n)
  print(s:byte(1, 3), string.char(65 + (n & 7), 66), s:len(), #s, s:lower(), s:upper(), s:reverse(), s:rep(2, "-"), s:sub(2, -2))
  print(s:find("-", 1, true), s:find("%a(.)"), s:match("(%w+)%W"), s:match("()"), s:gsub("%w", { a = "x" }))
  print(s:gsub("(%w)", "<%1>"), s:gsub("%w", function(c) return c == "b" and "!" end), s:gsub(",", "%%", 1))
  for w, at in s:gmatch("(%w)()") do print("gmatch", w, at) end
  for k, v in ("k=v, a=b"):gmatch("(%w+)=(%w+)") do print(k, v) end
  print(s:match("^(.-)%s*$"), ("THE (quick) fox"):find("%((%a+)%)"), ("f(a(b)c)d"):match("%b()"), ("hello"):match("%f[%w]%w+"))
  print(string.format("%5d|%-5d|%05x|%q|%s|%10.3s|%c|%i|%X|%o|%%", n, n, n, s, s, s, 65, n, n, n))
  print(string.format("%q %s %s", n, make(n), nil), try(string.format, "%d", "x"), try(string.format, "%y", 1), #string.format("%p", list) > 0)

  local packed = string.pack(">I2 s1 z <i4 B c3 j", n & 0xffff, s, "zero", -n, n & 255, "abc", n)
  print(#packed, string.unpack(">I2 s1 z <i4 B c3 j", packed))
  print(string.packsize("<i4 !8 d b"), try(string.pack, "i17", 1), try(string.unpack, "i4", "ab"))
  print(tostring(n), tostring(nil), tostring(true), tonumber("0x1f"), tonumber("z", 36), tonumber(" 12 "), tonumber("x"), tonumber("10", 2))
  print(s .. n, n .. "", "10" + n, "3" * "4", -"2", "0x10" // 3, try(function() return "a" + n end), try(function() return s < n end))
end

local function tables(n)
  local t = { table.unpack(list) }
  table.insert(t, n)
  table.insert(t, 2, 4)
  print(table.remove(t), table.remove(t, 1), table.remove({}), #t, table.concat(t, ","), table.concat(t, "-", 2, 3))
  table.sort(t)
  print(table.concat(t, " "))
  table.sort(t, function(a, b) return a > b end)
  print(table.concat(t, " "), select("#", table.unpack(t, 1, 2)), select(-1, 1, 2), select(2, "a", "b", "c"))
  local p = table.pack(n, nil, "x")
  print(p.n, p[3], #table.create(4), table.concat(table.move({ 1, 2, 3 }, 1, 3, 2), ","), table.concat(table.move({ 1, 2 }, 1, 2, 1, {}), ","))
  local words = { "pear", "apple", "fig" }
  table.sort(words)
  print(table.concat(words, " "), next({}), next({ 4 }), rawlen(words), rawequal(words, t), rawget(words, 1), rawset(words, 4, "z") == words, #words)
  local keys = {}
  for k, v in pairs({ a = 1, [2] = "b", [true] = n }) do keys[#keys + 1] = tostring(k) .. "=" .. tostring(v) end
  table.sort(keys)
  print(table.concat(keys, ";"))
  for i, v in ipairs(setmetatable({}, { __index = function(_, i) return i < 3 and i * n or nil end })) do print("ipairs", i, v) end
  print(try(table.concat, { {} }), try(table.insert, t, 99, 1), try(next, {}, "none"), try(table.sort, { 1, "a" }))
  print(try(rawset, 1, 2, 3), try(setmetatable, 1, {}), try(setmetatable, setmetatable({}, { __metatable = "locked" }), {}))
end

local function numbers(n)
  print(math.abs(-n), math.max(n, 3, 9), math.min(n, 3), math.tointeger(3.0), math.type(n), math.type(1.5), math.type("1"), math.ult(n, -1))
  print(try(math.floor, {}), try(math.ceil, "x"), math.fmod(-7, 3), math.maxinteger, math.mininteger, math.floor(n), math.ceil(n), math.tointeger("8"))
  math.randomseed(42)
  local r = math.random(1, 6)
  print(r >= 1 and r <= 6, math.random(0) ~= nil, math.random(3) <= 3, try(math.random, 2, 1), try(math.random, 1, 2, 3))
  print(n // 3, n % 3, -n // 3, -n % 3, n << 2, n >> 1, n & 6, n | 9, n ~ 5, ~n, 7 // 2, n == 3, n < 4, -n)
  print(try(function() return n // 0 end), try(function() return n % 0 end), try(math.fmod, n, 0), n ~= 2)
  print(try(function() return n + {} end), try(function() return n < {} end), try(function() return {} .. n end), try(function() return #n end))
  for i = 10, 1, -4 do print("for", i) end
  print(try(function() for i = 1, 10, 0 do end end), try(function() for i = "a", 2 do end end), try(math.abs), try(math.floor, {}))
end

local function objects(n)
  local a, b = make(n), make(3)
  print(a + b, a - 1, 2 * a, a % b, a // b, a & 1, a | 1, a ~ 1, a << 1, a >> 1, -a, ~a, a .. "x", "x" .. a, #a, a / 2, a ^ 2)
  print(a == b, a < b, a <= b, a(1, 2), tostring(a), a.none, rawequal(a, a), getmetatable(a) == point, rawlen(a))
  for k, v in pairs(a) do print("pairs", k, v) end
  a.y = 1
  do local c <close> = make(n + 1) end
  print(select("#", try(function() local d <close> = make(n + 2) error({ code = n }) end)))
  print(try(function() local e <close> = 5 end))
  local function sum(x, ...) if x then return x + (sum(...) or 0) end end
  local function tail(k, ...) if k == 0 then return select("#", ...), ... end return tail(k - 1, k, ...) end
  print(sum(n, 2, 3), tail(3), (function(...) local x = ... return x, ... end)(n, 1))
  local count = 0
  local function up() count = count + n return count end
  print(up(), up(), type(up), type(nil), type(a), type(n), type("s"), type(true))
  goto done
  ::again:: count = 0
  ::done:: if count > 0 then goto again end
end

local function errors(n)
  print(try(error), try(error, "text", 0), try(error, "text"), type(select(2, try(error, { n }))), select("#", try(error, nil)))
  print(xpcall(function() error("deep", 2) end, function(m) return "handled: " .. tostring(m) end), xpcall(string.len, print, "abc"))
  print(try(assert, false), try(assert, nil, "message"), assert(n, "x"), type(select(2, try(assert, false, { 1 }))), try(assert))
  print(try(function() local t; return t.x end), try(function() local t = {}; t.x.y = 1 end), try(function() undefined() end), try(function() ("x"):none() end))
  print(try(function() local t = {}; t[nil] = 1 end), try(function() return math.none.x end), try(string.rep), try(string.char, 256), try(string.byte, {}))
  print(try(select, 0), try(ipairs), try(tonumber, "1", 99), try(tostring), try(getmetatable), try(pairs), try(type), try(rawlen, 5), try(tonumber))
  print(getmetatable(make(n)) == point, getmetatable({}), try(error, setmetatable({}, { __tostring = function() return "object" end })))
end

local function texts(s)
  print(utf8.char(228, 8364, 65), utf8.len("\u{e4}b"), utf8.codepoint("\u{20ac}x", 1, -1), utf8.offset("\u{e4}b", 2), utf8.len("\xff"), #utf8.charpattern)
  for at, c in utf8.codes("\u{e4}z") do print("code", at, c) end
  print(try(utf8.codepoint, "\xff"), try(utf8.len, s, 99), try(utf8.char, -1), try(utf8.offset, "\u{e4}", 1, 2))
  for c in s:gmatch(utf8.charpattern) do if c == "," then print(c) end end
  print(s < "b", s <= "a", s == "a", s > "", "a" < "b", s:find(",", -3), ("x"):rep(0), ("%d"):format(3), s:gsub("", "."))
end

local function headers(pkt)
  local e, i, v = pkt.eth, pkt.ip, pkt.vlan
  if e then print(e.src, e.dst, e.type) end
  if v then print(v.id, v.priority, v.dei, v.type, v.inner_id) end
  if i then
    print(i.version, i.src, i.dst, i.tos, i.dscp, i.ecn, i.ttl, i.proto, i.length, i.header_length, i.id, i.dont_fragment, i.more_fragments)
    print(i.fragment_offset, i.flow, i.checksum, i.src == "192.0.2.7", tostring(i.dst))
  end
  local t, u, c, l = pkt.tcp, pkt.udp, pkt.icmp, pkt.tls
  if t then
    print(t.sport, t.dport, t.seq, t.ack, t.flags, t.fin, t.syn, t.rst, t.psh, t.urg, t.ece, t.cwr, t.window, t.checksum, t.urgent, t.header_length)
  end
  if u then print(u.sport, u.dport, u.length, u.checksum) end
  if c then print(c.type, c.code, c.checksum, c.id, c.seq) end
  if l then print(l.sni) end
end

local function bytes(pkt, arg)
  print(#pkt, #tostring(pkt), pkt:getbyte(0), pkt:getuint8(1), pkt:getint8(2), pkt:getuint16(3), pkt:getint16(3), pkt:getuint32(4), pkt:getint32(4))
  print(pkt:getint64(5), pkt:getnumber(5), pkt:getstring(6, 3), #pkt:getstring(9), #arg, arg:getuint16(0), try(function() arg:setbyte(0, 1) end))
  pkt:setbyte(0, 1)
  pkt:setuint8(1, 2)
  pkt:setint8(2, -3)
  pkt:setuint16(3, 4)
  pkt:setint16(5, -6)
  pkt:setuint32(6, 7)
  pkt:setint32(6, 8)
  pkt:setint64(4, 9)
  pkt:setnumber(3, 10)
  pkt:setstring(1, "ab")
  print(try(function() pkt:getbyte(#pkt) end), try(function() return pkt:getuint32(-1) end), try(function() pkt.eth = 1 end), try(function() return pkt + 1 end), type(pkt))
end

xdp.attach(function(pkt, arg)
  local s = (pkt.payload or "none"):sub(1, 6):gsub("[^%g]", ".")
  local n = #pkt & 15
  strings(s, n)
  tables(n)
  numbers(n)
  objects(n)
  errors(n)
  texts(s)
  headers(pkt)
  bytes(pkt, arg)
end)
