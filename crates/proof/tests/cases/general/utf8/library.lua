-- utf8: char, codepoint, codes, len, offset, charpattern on good and bad text (manual § 6.6).
-- frames: udp:a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z udp:plain udp: udp:\xff udp:\xc3 udp:a\x80b udp:\xed\xa0\x80 udp:\xc0\x80 udp:\xf4\x90\x80\x80
local xdp = require "xdp"
local function try(f, ...) return pcall(f, ...) end
xdp.attach(function(pkt)
  local s = pkt.payload or ""
  print(#s, utf8.len(s), utf8.len(s, 1, -1, true), pcall(utf8.len, s, 2), utf8.len("\u{e4}\u{20ac}"), utf8.len(""))
  print(try(utf8.codepoint, s, 1, -1))
  print(try(utf8.codepoint, s))
  print(try(utf8.codepoint, s, 2))
  print(try(function() for at, c in utf8.codes(s) do print("code", at, c) end end))
  print(try(function() for at, c in utf8.codes(s, true) do print("lax", at, c) end end))
  for _, n in ipairs { 1, 2, 0, -1, -2, 4, 9 } do print("offset", n, try(utf8.offset, s, n)) end
  print(try(utf8.offset, s, 1, 2), try(utf8.offset, s, -1, 1))
  print(try(utf8.len, s, 3), try(utf8.len, s, #s + 2))
  for c in s:gmatch(utf8.charpattern) do print(#c, c:byte(1, -1)) end
  print(utf8.char(), utf8.char(65 + #s), utf8.char(0xe4, 0x20ac, 0x1f600, #s), #utf8.char(0x7fffffff), utf8.charpattern == "[\0-\x7F\xC2-\xFD][\x80-\xBF]*")
  print(try(utf8.char, -1))
  print(try(utf8.char, 1 << 31))
  print(try(utf8.char, "x"))
  print(try(utf8.codepoint, "abc", 4))
  print(try(utf8.codepoint, "abc", 0))
  print(try(utf8.len, "abc", 5))
  print(try(utf8.len, "abc", 1, 4))
  print(try(utf8.offset, "abc", 1, 5))
  print(try(utf8.offset, "a\u{e4}", 1, 3))
  print(try(utf8.len), try(utf8.codes), try(utf8.codepoint))
end)
