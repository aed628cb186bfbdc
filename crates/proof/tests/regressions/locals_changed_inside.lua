-- A local variable that a function inside assigns may be anything behind a call, an operator or the end of a loop's turn.
-- frames: tcp short
local xdp = require "xdp"
local A, B = { v = 2 }, { v = 1 }
local f = string.rep
xdp.attach(function(pkt)
  local n, t, g = 1, A, string.rep
  local function s(x) n, t, g = x, B, string.sub end
  print(n + 1, t.v, g("abc", 2))
  s("7")
  print(n + 1, n & 3, t.v, g("abc", 2))
  local m = setmetatable({}, { __add = function() n = nil return 1 end })
  n = 3
  local sum = m + 1
  print(sum, n)
  n = 4
  string.gsub("a", "a", function() n = true end)
  print(n, (pcall(function() return n + 1 end)))
  s({})
  print(n + 1)
end)
