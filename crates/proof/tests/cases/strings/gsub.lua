-- `string.gsub` with known patterns and replacements; subjects from packets, beside known ones.
-- frames: udp:hello\sworld\sfrom\sLua udp: udp:x udp:abc\s\sxyz\s udp:GET\s/a%20b?q=1&r=2 tcp udp:aaaa udp:,a,,b,
local xdp = require "xdp"
local known = "one two  three"
xdp.attach(function(pkt)
  local s = pkt.payload or pkt:getstring(0, 14)
  local n = #s
  print(s:gsub("l", "L"))
  print((s:gsub("%w+", "<%0>")), (s:gsub("(%w)(%w)", "%2%1")))
  print((s:gsub("", "-")))
  print(s:gsub("%s+", ""))
  print((s:gsub("^%a", "*")), (s:gsub("$", "!")))
  print(s:gsub("a*", "."))
  print((s:gsub("()%a", "%1;")))
  print(s:gsub("x", "y", -1), s:gsub("o", "[%1]", n & 1))
  print((known:gsub("%s+", "_")), known:gsub("t", "t" .. "T", 1))
  print(s:gsub("[aeiou]", 7, n):gsub("7", "%%"))
end)
