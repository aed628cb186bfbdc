-- Library functions in the place of the script's: as metamethods, iterators, callbacks and handlers. What they complain about names
-- how they were called.
-- frames: udp
local xdp = require "xdp"
local functions = {
  error, string.rep, string.sub, string.char, rawlen, rawget, select, assert, math.floor, math.abs, utf8.char,
  tonumber, ipairs, type, string.byte, math.tointeger,
}
local function short(...)
  local r = { ... }
  for i = 1, select("#", ...) do
    local kind = type(r[i])
    if kind ~= "string" and kind ~= "number" and kind ~= "boolean" and kind ~= "nil" then r[i] = kind end
  end
  return table.unpack(r, 1, select("#", ...))
end
xdp.attach(function(pkt)
  for number, f in ipairs(functions) do
    local t = setmetatable({}, {
      __index = f, __newindex = f, __add = f, __concat = f, __len = f, __unm = f, __lt = f, __call = f, __bnot = f,
    })
    print(number, "index", short(pcall(function() return t.x end)))
    print(number, "newindex", short(pcall(function() t.x = 5 end)))
    print(number, "add", short(pcall(function() return t + 1 end)))
    print(number, "concat", short(pcall(function() return "a" .. t end)))
    print(number, "len", short(pcall(function() return #t end)))
    print(number, "unm", short(pcall(function() return -t end)))
    print(number, "lt", short(pcall(function() return t < 1 end)))
    print(number, "call", short(pcall(function() local r = t(1) return r end)))
    print(number, "gsub", short(pcall(string.gsub, "abc", "b", f)))
    print(number, "plain", short(pcall(f)))
    print(number, "handler", short(xpcall(function() error("e") end, f)))
  end
  local t = setmetatable({}, { __index = error })
  print(t.x)
end)
