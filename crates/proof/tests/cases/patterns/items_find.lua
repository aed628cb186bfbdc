-- Every pattern item against texts from packets: string.find.
-- frames: udp:hello\sworld udp:\s\sa=1;b=22 udp:2024-06-01T12:30 udp:(a(b)c)(d udp:aaaab udp:x udp-empty udp:THE\s(quick)\sfox tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:find("o"), s:find("l+"), s:find("(o)(.)"), s:find("", 3), s:find("", 100), s:find("."), s:find("$"), s:find("^"))
  print(s:find("(", 1, true), s:find("a(b", 1, true), s:find("%", 1, true), s:find("b", -2), s:find("b", -100))
end)
