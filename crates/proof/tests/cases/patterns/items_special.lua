-- Every pattern item against texts from packets: balanced text, frontiers, back references.
-- frames: udp:hello\sworld udp:\s\sa=1;b=22 udp:2024-06-01T12:30 udp:(a(b)c)(d udp:aaaab udp:x udp-empty udp:THE\s(quick)\sfox tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:match("%b()"), s:match("%f[%w]%w+%f[%W]"), s:match("%f[%a]%a+", 3), s:match("(.)%1"), s:match("((a)(b))"))
end)
