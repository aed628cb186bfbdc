-- The integer part of math (manual § 6.8).
-- frames: hex:0700000000000080fdffffffffffffff00 hex:00000000000000800100000000000000ff hex:ffffffffffffff7f020000000000000040
local xdp = require "xdp"
local function try(f, ...) return (select(2, pcall(f, ...))) end
xdp.attach(function(pkt)
  local a, b, c = pkt:getint64(0), pkt:getint64(8), pkt:getuint8(16)
  print(math.abs(a), math.abs(b), math.abs(c), math.abs(-c), math.abs(math.mininteger))
  print(math.ceil(a), math.floor(a), math.max(a, b), math.min(a, b), math.max(c), math.max(a, b, c, 5), math.min(c, 5, -1))
  print(math.tointeger(a), math.tointeger(c), math.tointeger("8"), math.tointeger("x"), math.tointeger({}), math.type(a), math.type("1"), math.type(nil))
  print(math.ult(a, b), math.ult(b, a), math.ult(c, -1), math.ult(-1, c), math.ult(1, 2), math.ult(a, a))
  print(try(math.fmod, a, b), try(math.fmod, -c, 7), try(math.fmod, c, -7), try(math.fmod, a, -1), try(math.fmod, a, 0), try(math.fmod, math.mininteger, -1))
  print(math.maxinteger, math.mininteger, math.maxinteger + 1 == math.mininteger, math.maxinteger // -1)
  print(try(math.abs), try(math.abs, "x"), try(math.abs, {}), try(math.floor, nil), try(math.ceil, true))
  print(try(math.max), try(math.min), try(math.max, "a", "b"), try(math.max, 1, "x"), try(math.max, c, nil))
  print(try(math.ult, 1), try(math.ult, "x", 1), try(math.fmod, 1), try(math.fmod, "x", 2), try(math.tointeger), try(math.type))
  print(math.ult("1", "2"), math.max("10", "9"), math.min("10", "9", "1"), math.tointeger("12"))
  math.randomseed(c)
  local x, y, z = math.random(0), math.random(10), math.random(-5, 5)
  print(x, y, z, math.random(1), math.random(7, 7), math.random(math.mininteger, math.maxinteger), math.random(0, math.maxinteger))
  math.randomseed(c)
  print(x == math.random(0), math.random(3) <= 3, try(math.random, 2, 1), try(math.random, -1), try(math.random, 1, 2, 3), try(math.random, "x"))
  math.randomseed(a, b)
  print(math.random(0), math.random(1, c + 1))
end)
