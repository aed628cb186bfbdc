-- `string.gsub` in the middle of other string functions.
-- frames: udp:hello\sworld\sfrom\sLua udp: udp:x udp:abc\s\sxyz\s udp:GET\s/a%20b?q=1&r=2 tcp udp:,a,,b,
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload or pkt:getstring(0, 14)
  print((s:gsub("%f[%w]%w", "^")), #s:gsub(".", "%0%0%0"))
  print((s:gsub("[&?]", "\n"):gsub("\n", "\\n")))
  local words, count = s:upper():gsub("(%a+)%s*", "%1,")
  print(words .. count, words:find(",", 1, true), count > 1 and words:byte(-1))
  if count == 1 then print(s:gsub("x", #s > 3 and "y" or nil)) end
end)
