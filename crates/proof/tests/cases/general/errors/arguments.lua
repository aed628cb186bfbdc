-- Bad arguments, by the name the function is called by (lauxlib.c, luaL_argerror).
-- frames: hex:0305010000000000000000000000 udp:x
local xdp = require "xdp"
local alias, library = string.rep, { insert = table.insert, text = string }
local tests = {
  function(x) string.rep() end,
  function(x) string.rep("x", {}) end,
  function(x) alias("x") end,
  function(x) local rep = string.rep; rep(nil, x) end,
  function(x) ("x"):rep() end,
  function(x) ("x"):rep({}) end,
  function(x) ("x").rep("x", "y") end,
  function(x) library.insert(nil, x) end,
  function(x) library.text.sub() end,
  function(x) return (string.sub)(nil) end,
  function(x) table.insert(nil, x) end,
  function(x) table.insert({}, x, x, x) end,
  function(x) table.insert({}, 100, x) end,
  function(x) table.concat({ {} }) end,
  function(x) table.concat(x) end,
  function(x) table.unpack() end,
  function(x) table.sort(x) end,
  function(x) table.sort({ 1, 2 }, x) end,
  function(x) table.remove({}, 5) end,
  function(x) ipairs() end,
  function(x) setmetatable(x, {}) end,
  function(x) setmetatable({}, x) end,
  function(x) getmetatable() end,
  function(x) select() end,
  function(x) select({}) end,
  function(x) select(0) end,
  function(x) tonumber("x", 99) end,
  function(x) tonumber(x, 10) end,
  function(x) tostring() end,
  function(x) type() end,
  function(x) rawget(x) end,
  function(x) rawlen(x) end,
  function(x) rawset({}, nil, 1) end,
  function(x) next(x) end,
  function(x) next({}, "no key") end,
  function(x) assert() end,
  function(x) assert(false) end,
  function(x) assert(nil, "said") end,
  function(x) error() end,
  function(x) math.floor("x") end,
  function(x) math.max() end,
  function(x) math.random(2, 1) end,
  function(x) math.fmod(1, 0) end,
  function(x) string.char(x + 1000) end,
  function(x) string.format("%d", "x") end,
  function(x) string.format("%d", {}) end,
  function(x) ("%d"):format("x") end,
  function(x) string.find("x") end,
  function(x) string.gsub("x", "x", nil) end,
  function(x) string.byte("x", {}) end,
  function(x) string.pack("i17", x) end,
  function(x) string.unpack("i4", "x") end,
  function(x) utf8.char(-x - 1) end,
  function(x) utf8.codepoint("\xff") end,
  function(x) utf8.len("abc", 10) end,
  function(x) xpcall() end,
  function(x) pcall() end,
  function(x) return string.rep end,
  function(x) print(setmetatable({}, { __tostring = function() return {} end })) end,
  function(x) print(setmetatable({}, { __tostring = function() error("in tostring", 0) end })) end,
}
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  for i = 1, #tests do
    local ok, message = pcall(tests[i], n)
    print(i, ok, ok or tostring(message):gsub("^.-:(%d+):", "%1"))
  end
  if pkt.udp then table.insert(nil, n) end
  return ("x"):rep({})
end)
