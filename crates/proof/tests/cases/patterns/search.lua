-- Literal prefixes are searched for a word at a time: texts of all lengths around words, near and at the end.
-- frames: udp:ab udp:xab udp:xxxxxxxab udp:xxxxxxxxab udp:xxxxxxxxxab udp:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab udp:abababab udp:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxab udp:a udp-empty udp:\x80\x81ab\x80 udp:a\x00b
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:find("ab"), s:find("b"), s:find("aab"), s:find("ab$"), s:find("abab"), s:find("\0b"), s:find("\x80"))
  print(s:match("(.-)ab"), s:match("a(.-)b"), s:match("x(.-)ab(.*)"), s:match(".-b()"), s:match("(.-)ab$"))
  print(tostring(pkt):find("ab"))
end)
