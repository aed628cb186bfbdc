-- Every pattern item against texts from packets: sets and captures.
-- frames: udp:hello\sworld udp:\s\sa=1;b=22 udp:2024-06-01T12:30 udp:(a(b)c)(d udp:aaaab udp:x udp-empty udp:THE\s(quick)\sfox tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:match("[a-f0-9]+"), s:match("[]-]"), s:match("[%]%-]"), s:match("%u%l*"), s:match("%x%x"), s:match("%p"))
  print(s:match("(%w+)=(%w+);?(%w*)"), s:match("^(%a)(%a*)"), s:match("(%a*)$"), s:match(".-%d"), s:match("[%s=]*$"))
end)
