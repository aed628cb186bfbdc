-- Every pattern item against texts from packets: classes, repetitions, anchors.
-- frames: udp:hello\sworld udp:\s\sa=1;b=22 udp:2024-06-01T12:30 udp:(a(b)c)(d udp:aaaab udp:x udp-empty udp:THE\s(quick)\sfox tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:match("%a+"), s:match("^%s*(.-)%s*$"), s:match("(%d+)-(%d+)-(%d+)"), s:match("[^%w%s]"))
  print(s:match("a*b"), s:match("a-b"), s:match("a+a"), s:match("^a?a?a?a?a?b"), s:match("x?"), s:match("()%w()"))
end)
