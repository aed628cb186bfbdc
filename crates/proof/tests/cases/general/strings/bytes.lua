-- byte, char, len, lower, upper, rep, reverse, sub with every kind of position (manual § 6.5).
-- frames: udp:hello udp: udp:\x00\xff\x80A udp:MiXed\s123 udp:x
local xdp = require "xdp"
local max, min = math.maxinteger, math.mininteger
xdp.attach(function(pkt)
  local s = pkt.payload or ""
  local n = #s
  print(#s, s:len(), string.len(s), s:lower(), s:upper(), s:reverse(), s:rep(2), s:rep(3, ", "), s:rep(0), s:rep(-1), s:rep(1, "x"))
  for _, i in ipairs { 1, 2, n, n + 1, 0, -1, -n, -n - 1, max, min } do
    print(i, s:byte(i), "|", s:sub(i), s:sub(i, i), s:sub(1, i), s:sub(i, -2), ("constant"):sub(i, 5))
  end
  print(s:byte(), s:byte(1, 3), s:byte(1, -1), select("#", s:byte(1, -1)), select("#", s:byte(10)), s:byte(-2, -1))
  print(s:byte(min, max), s:sub(min, max) == s, s:sub(2, 1), s:sub(3, 2) == "")
  print(string.char(), string.char(n + 65), string.char(72, 105, n), string.char(0, 255, 128):byte(1, -1))
  print(("x"):rep(n), ("ab"):rep(n, "-"), ((""):rep(100)) == "", #(""):rep(1 << 40))
  print(s .. s:upper() == s:rep(1) .. s:upper(), s:sub(1, 2) .. s:sub(3) == s, s:reverse():reverse() == s)
  print(pcall(string.char, 256), pcall(string.char, -1))
  print(pcall(string.char, n, "x"), pcall(string.char, {}))
  print(pcall(string.rep, s), pcall(string.rep), pcall(s.rep, s, "x"))
  print(pcall(string.rep, "ab", 1 << 62))
  print(pcall(string.sub), pcall(string.sub, s), pcall(string.byte, s, {}), pcall(string.upper), pcall(string.len, nil))
  print(pcall(function() return s:nothing() end))
  print(pcall(function() return s.x.y end))
  print(pcall(function() s.x = 1 end))
  print(pcall(function() s[1] = n end))
  print(s[1], s.len == string.len, ("x").missing, #"\u{20ac}\z
    tail", '\65\066\x43\u{44}', [[
long
string]], [==[with ]] in it]==])
end)
