-- Three dozen searches in one handler: more than the verifier walks, though each is accepted.
-- frames: udp:hello\sworld udp:\s\sa=1;b=22 udp:2024-06-01T12:30 udp:(a(b)c)(d udp:aaaab udp:x udp-empty udp:THE\s(quick)\sfox tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:match("%a+"), s:match("^%s*(.-)%s*$"), s:match("(%d+)-(%d+)-(%d+)"), s:match("[^%w%s]"))
  print(s:match("a*b"), s:match("a-b"), s:match("a+a"), s:match("^a?a?a?a?a?b"), s:match("x?"), s:match("()%w()"))
  print(s:match("%b()"), s:match("%f[%w]%w+%f[%W]"), s:match("%f[%a]%a+", 3), s:match("(.)%1"), s:match("((a)(b))"))
  print(s:find("o"), s:find("l+"), s:find("(o)(.)"), s:find("", 3), s:find("", 100), s:find("."), s:find("$"), s:find("^"))
  print(s:find("(", 1, true), s:find("a(b", 1, true), s:find("%", 1, true), s:find("b", -2), s:find("b", -100))
  print(s:match("[a-f0-9]+"), s:match("[]-]"), s:match("[%]%-]"), s:match("%u%l*"), s:match("%x%x"), s:match("%p"))
  print(s:match("(%w+)=(%w+);?(%w*)"), s:match("^(%a)(%a*)"), s:match("(%a*)$"), s:match(".-%d"), s:match("[%s=]*$"))
end)
