-- find and match: classes, sets, repetitions, anchors, captures, positions, start offsets (manual § 6.5.1).
-- frames: udp:hello\sworld\s123 udp:key=value;other=12 udp:(a(b)c)\s[x] udp:aaa udp: udp:\x00a\x00b\xff
local xdp = require "xdp"
local patterns = { "", "a", "o", ".", "%d+", "%a+", "%s", "^%w", "%w$", "^.*$", "(%w+)=(%w+)", "()", "(.)(.)", "[%w_]+", "[^%w]", "[a-f]+",
  "a-b", "a*", "a+", "a?b", ".-", ".-$", "%b()", "%f[%w]%w+", "%f[%s%z]", "(a*(.)%w(%s*))", "(()a())", "%z", "\0", "[\0-\31]", "(.)%1", "%x+", "%p",
  "%u", "%l+", "%c", "%g+", "%S+", "%W", "[]x]+", "[^]]+", "[%]%[]", "[a-]", "[-a]", "%.", "%%", "%(", "x*$", "^", "$", "^$", "[%a][%d]*" }
xdp.attach(function(pkt)
  local s = pkt.payload or ""
  for i, p in ipairs(patterns) do
    print(i, s:find(p))
    print(i, s:match(p))
    if #p > 3 then print(s:find(p, 3), "|", s:match(p, -3), "|", s:find(p, 1, true)) end
  end
end)
