-- Keys of constant tables: floats, functions, objects of load time (Lua manual § 2.1).
-- frames: tcp short
local xdp = require "xdp"
local function f() end
local function g() end
local thread, other = coroutine.create(f), coroutine.create(g)
local T = { "first", [f] = "f", [print] = "print", [1.5] = "1.5", [-3] = "-3", [true] = "true", [thread] = "thread" }
local U = { key = 1.0 }
xdp.attach(function(pkt)
  print(T[1.0], T[1.5], T[-3.0], T[2.5], T[U.key], T[0.0])
  print(T[f], T[g], T[print], T[type], T[#pkt > 0], T[thread], T[other], T[T])
  print(type(thread), type(other), thread == other, thread == thread)
  if T[1.0] then return 1 end
  return 2
end)
