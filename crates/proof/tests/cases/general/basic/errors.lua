-- error with every value and level, assert, what pcall and xpcall give (manual § 6.2).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000
local xdp = require "xdp"
local function at_level(level, value)
  error(value, level)
end
local function outer(level, value)
  at_level(level, value)
  return "not reached"
end
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  for level = 0, 3 do print(level, pcall(outer, level, "message " .. n)) end
  print(pcall(outer, nil, "default level"))
  print(pcall(error), pcall(error, nil), pcall(error, n), pcall(error, true))
  print(pcall(error, "direct"), pcall(error, "direct", 2), pcall(error, "direct", 0))
  local value = { code = n }
  local ok, e = pcall(error, value)
  print(ok, e == value, e.code)
  print(select("#", pcall(error)), select("#", pcall(function() return n, nil, nil end)), pcall(function() end))
  print(pcall(pcall, error, n), pcall(pcall), pcall(nil), pcall(n))
  print(pcall(assert, n > 0, "was not"), pcall(assert, n, 1, 2), pcall(assert, nil), pcall(assert, false, n))
  print(pcall(assert), (select(2, pcall(assert, nil, value)) == value))
  print(xpcall(function(...) return n, ... end, print, 1, 2))
  print(xpcall(error, function(e) return "handled " .. tostring(e), "cut" end, "e" .. n))
  print(xpcall(function() local x = nil; return x.y end, function(e) return e:gsub("^.-:%d+: ", "") end))
  print(xpcall(error, function() return nil end), xpcall(error, function() end))
  print(xpcall(n, function(e) return e end))
  print(pcall(xpcall), pcall(xpcall, print))
  print(pcall(function() local ok, e = pcall(error, "inner") error(e .. "+outer", 0) end))
  print(pcall(function() assert(pcall(error, n)) end), (pcall(error)))
  local function nested(k) if k == 0 then error("deep " .. n, 0) end local ok, e = pcall(nested, k - 1) error(e .. "<" .. k, 0) end
  print(pcall(nested, 4))
  local function count(k) local s = 0 for i = 1, k do if not pcall(error, i) then s = s + i end end return s end
  print(count(n + 5))
  error(n == 0 and "at the end" or value)
end)
