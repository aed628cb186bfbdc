-- Lua calls no handler of xpcall for an error that says "not enough memory", whoever raised it (lua_error in lapi.c).
-- frames: tcp short
local xdp = require "xdp"

local function told(text) return "told: " .. tostring(text) end

xdp.attach(function(pkt)
  print(xpcall(function() local s = ("x"):rep(1 << 40) return #s + #pkt end, told))
  print(pcall(string.rep, "x", 1 << 40))
  print(xpcall(function() error("not enough memory", 0) end, told))
  print(xpcall(function() error("not enough memor" .. (#pkt > 40 and "y" or "i"), 0) end, told))
  print(xpcall(function() error("not enough memory", 1) end, told))
  print(xpcall(function() error({}) end, function(e) return type(e) end))
  print(xpcall(function() error(#pkt > 40 and "lost" or 7, 0) end, told))
  return xdp.action.PASS
end)
