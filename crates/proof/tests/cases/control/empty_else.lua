-- Conditions that are known, with empty branches.
-- frames: tcp udp
local xdp = require "xdp"
xdp.attach(function(pkt)
  if true then print(1) else end
  if not nil then else print(2) end
  if false then else end
  while true do if 1 then print(3) break else end end
  repeat if "x" then else end until true
  if true then elseif pkt.tcp then print(4) else end
  if pkt.tcp then else end
  if pkt.tcp then print(5) else end
  if pkt.udp then if true then print(6) else end else end
  return 2
end)
