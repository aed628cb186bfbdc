-- Texts of floats, and floats of texts.
-- frames: udp tcp dns:www.example.org
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  local x = n / 7
  print(tostring(x), x .. "|" .. -x .. "|" .. n / 2, ("%.3f|%10.2e|%g|%a|%5.1f"):format(x, x, x, x, n))
  print(("%d|%x|%s|%q"):format(n / n, n * 1.0, x, x), #tostring(1e100 * n), 1e15 * n, 1e16 * n, n / 1e10)
  print(tonumber(n .. ".5"), tonumber("0x" .. n .. ".8p1"), tonumber(n .. "e-2"), n .. ".25" + 1, "1e1" * n, tonumber(n .. "e400"))
  local packed = string.pack("<dfn>d", x, x, -x, n)
  print(#packed, string.unpack("<dfn>d", packed))
  local t = { x, n / 2, 3, n / 3 }
  table.sort(t)
  print(table.concat(t, " "), math.tointeger(n / 1), math.tointeger(x), t[n / n], t[1.0 * 2])
  t[2.0] = "two" t[2.5] = "more" t[x] = n
  print(t[2], t[2.5], t[n / 7], #t)
  print(pcall(function() return x | 1 end))
  print(pcall(function() return ("x"):rep(x) end))
  print(pcall(function() return t < x end))
  print(pcall(function() t[0 / 0 * n] = 1 end))
  print(math.sqrt(n), math.floor(x), math.ceil(x), math.fmod(n, 2.5), math.fmod(-x, 1), math.modf(x), math.abs(-x))
  print(math.deg(x), math.rad(n), math.frexp(x), math.ldexp(x, n), math.floor(1e300 * n), math.ult(n / n, 2))
end)
