-- gsub with strings, tables and functions; counts; anchors; empty matches (manual § 6.5).
-- frames: udp:hello\sworld udp:$name\sis\s$age udp:aaa udp: udp:a,b,,c udp:\x00x\x00
local xdp = require "xdp"
local names = { name = "Lua", age = 30, hello = false, a = "<a>" }
xdp.attach(function(pkt)
  local s = pkt.payload or ""
  local n = #s
  print(s:gsub("", "-"), s:gsub("a", "b"), s:gsub(".", "%0%0", 3), s:gsub("%w+", "<%0>"), s:gsub("(%w)(%w)", "%2%1"))
  print(s:gsub("^%w", "X"), s:gsub("%w$", "X"), s:gsub("x*", "-"), s:gsub("l", "", n % 3), s:gsub(",", "%%"), s:gsub("o", "0", -1))
  print(s:gsub("%$(%w+)", names), s:gsub("%w+", names), s:gsub("(%w)%w*", { h = "H", w = 7 }), s:gsub(".", setmetatable({}, { __index = function(_, k) return k:byte() .. ";" end }), 4))
  local calls = {}
  print(s:gsub("%w+", function(w) calls[#calls + 1] = w return #w end), table.concat(calls, " "))
  print(s:gsub("(%w)(%w*)", function(a, b) return b .. a end), s:gsub("%w", function(c) if c == "l" then return "L" end end))
  print(s:gsub("()", function(at) return at end), s:gsub("%w", function() return nil end), s:gsub("%w", function() return false end))
  print(s:gsub("%w", function() return n, "ignored" end, 2), (s:gsub("[aeiou]", string.upper)), s:gsub("%s", "%%1"))
  print((s:gsub("a", 5)), s:gsub("(a)(a)", "%1-%2-%0"), ("abc"):gsub("b", "%0%0"), ("x"):gsub("x", "%%%0"))
  print(pcall(string.gsub, s .. "x", "x", "%2"))
  print(pcall(string.gsub, s .. "x", "x", "%a"))
  print(pcall(string.gsub, s .. "x", "x", "%"))
  print(pcall(string.gsub, s .. "x", "x", function() return {} end))
  print(pcall(string.gsub, s .. "x", "x", { x = true }))
  print(pcall(string.gsub, s .. "x", "x", function() error("in the function", 0) end))
  print(pcall(string.gsub, s .. "x", "x", function(c) return c.y.z end))
  print(pcall(string.gsub, s, "x"), pcall(string.gsub, s, "x", true))
  print(pcall(string.gsub, s, "x", "y", "z"), pcall(string.gsub))
end)
