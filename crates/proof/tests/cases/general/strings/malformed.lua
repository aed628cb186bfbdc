-- Patterns that are malformed or too complex (manual § 6.5.1).
-- frames: udp:abc udp:aaaa udp:%
local xdp = require "xdp"
local bad = { "[a", "[", "[]", "[^", "%", "(a", "a)", "(()", "%f", "%fa", "%b", "%bx", "%1", "(a)%2", "(%1)", "[a-", "[%", "[%a", "a%", ")", "(", "[]-a]", "%0" }
xdp.attach(function(pkt)
  local s = pkt.payload or ""
  for i, p in ipairs(bad) do print(i, pcall(string.find, s, p)) end
  print(pcall(string.match, s, bad[#s]))
  print((pcall(string.gmatch, s, "[a")), pcall(string.gmatch, s), pcall(string.gmatch))
  print(pcall(function() for w in s:gmatch("(a") do print(w) end end))
  print(pcall(string.find, s), pcall(string.find), pcall(string.find, s, {}), pcall(string.match, s, nil))
  print(pcall(string.find, s, ("()"):rep(33)))
  print(#table.pack(s:find(("()"):rep(32))))
  print(pcall(string.find, s, s .. "%"))
end)
