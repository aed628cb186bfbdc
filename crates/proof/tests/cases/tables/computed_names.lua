-- Names put together at packet time in tables of the library and in strings: nil where there is none.
-- frames: udp tcp
local xdp = require "xdp"
known = 5
_G[7] = "seven"
xdp.attach(function(pkt)
  local n = #pkt
  print(("x")["fo" .. n], string["x" .. n], _G["y" .. n], math["z" .. n], _G[n - n + 7], _G[n])
  print(rawget(_G, "q" .. n), rawget(string, "rep" .. n), known)
  local s = "r" .. (n > 0 and "ep" or "")
  print(("ab")[s] == string.rep, ("ab")[s](("ab"), 2), string[s]("c", 3))
  for _, name in ipairs { "upper", "lower", "nothing" } do
    local f = ("aB")[name]
    print(name, f and f("aB"))
  end
end)
