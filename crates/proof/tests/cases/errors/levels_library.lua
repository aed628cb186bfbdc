-- Levels of errors across library functions, which are levels of the stack themselves, metamethods, pcall and handlers.
-- frames: udp
local xdp = require "xdp"
local function at(level) return function() error("m", level) end end
local function show(...) print(select("#", ...), ...) end
local function object(event, f) return setmetatable({}, { [event] = f }) end
local ways = {
  function(f) return (string.gsub("abc", "b", f)) end,
  function(f) return (("abc"):gsub("b", object("__index", f))) end,
  function(f) return table.sort({ 3, 1, 2 }, f) end,
  function(f) return tostring(object("__tostring", f)) end,
  function(f) return (string.format("%s", object("__tostring", f))) end,
  function(f) print(object("__tostring", f)) end,
  function(f) return object("__index", f).x end,
  function(f) return object("__add", f) + 1 end,
  function(f) return 1 .. object("__concat", f) end,
  function(f) return #object("__len", f) end,
  function(f) return object("__lt", f) < 1 end,
  function(f) object("__newindex", f).x = 1 end,
  function(f) local r = object("__call", f)(5) return r end,
  function(f) return object("__call", f)(5) end,
  function(f) for _ in f do break end end,
  function(f) for _ in pairs(object("__pairs", f)) do break end end,
  function(f) for _ in ipairs(object("__index", f)) do break end end,
  function(f) return table.unpack(setmetatable({}, { __index = f, __len = function() return 2 end })) end,
  function(f) return math.max(object("__lt", f), 1) end,
  function(f) local r = pcall(f) error(r) end,
  function(f) return select(2, pcall(f)) end,
  function(f) return select(2, pcall(pcall, f)) end,
  function(f) return xpcall(at(2), f) end,
  function(f) return xpcall(f, function(m) return "handled " .. tostring(m) end) end,
  function(f) local c <close> = object("__close", f) end,
  function(f) local c <close> = object("__close", f) error("first") end,
  function(f) f() end,
  function(f) return f() end,
}
xdp.attach(function(pkt)
  for number, way in ipairs(ways) do
    for level = 0, 6 do
      local r = { pcall(way, at(level)) }
      print(number, level, r[1], type(r[2]) == "table" or r[2])
    end
  end
  show(pcall(string.gsub, "abc", "b", function() error("in", 2) end))
  show(pcall(error, "x", 3))
  show(pcall(string.gsub, "abc", "a", error))
  show(pcall(string.gsub, "abc", "a", error, {}))
  show(pcall(pcall, error, "x", 2))
end)
