-- Powers, exponentials, logarithms and functions of angles, of what packets bring. C's library may be off in the last place: 15 digits.
-- frames: udp tcp tls
local xdp = require "xdp"
local function show(...)
  local t = { ... }
  for i = 1, #t do t[i] = ("%.14g"):format(t[i]) end
  print(table.concat(t, " "))
end
xdp.attach(function(pkt)
  local n, x = #pkt, #pkt / 7
  show(n ^ 3, x ^ 0.5, x ^ -2.25, n ^ -1, 2 ^ -n, 10 ^ n, 1.5 ^ (40 * n), (-x) ^ 3, (-x) ^ 0.5, tostring(n) ^ 2, (n .. ".5") ^ "1.5", n ^ "0x10")
  show(math.exp(x), math.exp(-n), math.log(n), math.log(x, 2), math.log(n, 10), math.log(x, 7), math.log(n - n), math.log(-n))
  show(math.sin(x), math.cos(n), math.tan(-x), math.sin(1e300 * n), math.cos("1e22"), math.tan(n / 1e9))
  show(math.asin(1 / x), math.acos(-1 / x), math.atan(x), math.atan(-n, -x), math.atan(n, 1e-300), math.acos(n), math.asin(7 / n / 1e9))
  print(pcall(function() return n ^ {} end))
  print(pcall(function() return "x" ^ n end))
  print(pcall(math.sin, pkt.nothing), pcall(math.log, n, "z"), pcall(math.atan))
  local t = { 3, 1, 2 }
  table.sort(t, function(a, b) return tostring(a) ^ 1.5 < tostring(b) ^ 1.5 and math.log(tostring(a), 10) < math.atan(b, "2") + 10 end)
  print(table.concat(t, " "))
  print(("a1b22"):gsub("%d+", function(d) return ("%.14g"):format(d ^ 1.25) end))
end)
