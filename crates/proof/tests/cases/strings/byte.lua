-- `string.byte` and `string.char` with positions that packets make, beside known ones.
-- frames: udp:hello\sworld udp:x udp-empty tcp udp:\x00\xff\x80A eth:0123456789 hex:ffffffffffffffff0102030405060708
local xdp = require "xdp"
local known = "known"
xdp.attach(function(pkt)
  local s = pkt.payload or pkt:getstring(0, 3)
  local n, i = #s, pkt:getuint8(0) & 3
  print(s:byte(), s:byte(1), s:byte(2), s:byte(0), s:byte(-1), s:byte(-2), s:byte(-20), s:byte(n), s:byte(n + 1), s:byte(-n))
  print(s:byte(i), s:byte(-i), s:byte(i + 1, i + 2), s:byte(i - 1, i + 1), s:byte(math.mininteger))
  local back = -i
  print(s:byte(back, back + 1))
  print(s:byte(1, 4), "|", s:byte(-3, -1))
  print(select("#", s:byte(1, 3)), select("#", s:byte(-2, -1)), select("#", s:byte(2, 1)), select("#", s:byte(n + 1)))
  print(known:byte(i), known:byte(i + 1), known:byte(-1), known:byte(i, i + 1), known:byte(1, -1))
  local a, b, c = s:byte(1, 2)
  print(a, b, c, string.char(n), string.char(i, 65, n & 255, 0):byte(1, 4))
  print(string.char(), string.char(72, 105), string.char(s:byte(1, 3)), #string.char(65 + i, 66 + i, 67, 68, 69, 70, 71, 72, 73))
  local sum = 0
  for at = 1, #s do sum = sum * 31 + s:byte(at) end
  for at = -1, -#s, -1 do sum = sum ~ s:byte(at) << 3 end
  local t = s .. "/" .. n
  for at = 1, #t do sum = sum * 33 + t:byte(at) end
  print(sum, (t .. t):byte(n + 2, n + 5))
  if n > 5 then return sum + s:byte(n + 1) end
  if n == 1 then print(string.char(n * 256)) end
  if n == 4 then return string.char(-n) end
end)
