-- The math library with floats that are computed at packet time.
-- frames: udp tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  local half, third = n / 2, n / -3
  print(math.floor(half), math.ceil(half), math.floor(third), math.ceil(third), math.floor(third * 1e300), math.ceil(0 / third))
  print(math.abs(third), math.abs(half), math.fmod(half, 7), math.fmod(third, 2.5), math.fmod(n, 7), math.fmod(-n, 7))
  print(math.max(half, 3, third), math.min(half, n, third), math.max(n, n / 1), math.min(n / 1, n), math.max(third))
  print(math.type(half), math.type(n // 1), math.tointeger(n / 1), math.tointeger(third), math.tointeger("3.0"))
  print(math.ult(n / 1, -1), type(half), math.fmod(half, 0), math.fmod(half, math.huge), tonumber(half) == half, tonumber("1e1"))
  print(math.sqrt(n), math.sqrt(third), math.sqrt(half / 0), math.modf(third), math.modf(half / 0), (math.modf(n)))
  print(math.modf(half + 0.25), math.deg(half), math.rad(third), math.sqrt(2), math.modf("3.5"))
  if pkt.tcp then print(math.ult(half + 0.25, 3)) end
  print(math.fmod(n, n - n))
end)
