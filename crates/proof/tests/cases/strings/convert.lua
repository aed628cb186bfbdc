-- lower, upper, reverse and rep of texts from packets, beside known ones.
-- frames: udp:Hello\sWORLD\s[@`{]\sazAZ\xc0\xe0\xff udp:x udp-empty tcp udp:1234567 udp:12345678 udp:123456789 eth:Zz
local xdp = require "xdp"
local known, dash = "Known", "-"
xdp.attach(function(pkt)
  local s = pkt.payload or pkt:getstring(0, 3)
  local n = #s & 7
  print(s:lower(), s:upper(), s:reverse(), known:lower(), known:upper(), known:reverse(), (""):upper())
  print(s:upper():lower() == s:lower(), s:reverse():reverse() == s, #s:reverse(), s:lower() == s, string.lower(n * 1000))
  print(s:rep(3), s:rep(n), s:rep(0), s:rep(1), s:rep(-n), s:rep(2, ", "), s:rep(n, dash), s:rep(n, s))
  print(known:rep(n), known:rep(2), known:rep(n, "/"), dash:rep(n), dash:rep(20), (""):rep(n), (""):rep(n, "+"), string.rep(n, n))
  print(#(""):rep(1 << 40 | n), s:rep(4):sub(2, 9):upper():reverse())
  if n == 1 then print(s:rep(math.maxinteger, dash)) end
  if n == 3 then print(s:upper(1), s:rep(n == 3 and dash or n)) end
end)
