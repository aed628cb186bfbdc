-- Repetitions before what is optional, and lazy ones before what can begin in several ways: bytes are passed over, or a match is empty.
-- frames: udp:User-Agent:\sMozilla\s5.0\s\s\x0d\x0aHost:\sx\x0d\x0a udp:aaab\s\s\x0a udp:aab udp:a\sb(c(d)e)f udp:\x09\x09k=v\x09;\sn=w\x0d\x0a udp:12\s34\s56 udp:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab udp:\x80\xff\x0a udp:\x0d\x0d\x0a
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:match("(.-)[ \t]*\r?\n"), s:match(":[ \t]*(.-)[ \t]*\r?\n"), s:match("(a-)b?"), s:match("(a-)b?$"), s:match("(a*)b?a"))
  print(s:match("^(a-)b?%s*$"), s:match("(%a-)%s*$"), s:match("(%d-)%s?%d"), s:match("(.-)%b()"), s:match("(.-)b?(c?)$"))
  print(s:match("(%s*)%a?="), s:match("(%w-)=(%w-)[ \t]*;"), s:match("([^;]-)[ \t]*;"), s:match("(.-)()[\r\n]"), s:match("(\t*)k?v?=?"))
  print(s:find("a-b"), s:find("[a ]-b", 2), s:find("(a-)(a-)b"), s:find("[ \t]*\r?\n"), s:match("(\r*)\r?\n"), s:match("(\r-)\r?\n"))
  print(s:match("(.-)%s*%f[%d]"), s:match("(a)(.-)%1"), s:match("^[^\n]-()[ \t]*\r?\n"), s:match("(.-)[b-df-h]x?[%d%s]*$"))
end)
