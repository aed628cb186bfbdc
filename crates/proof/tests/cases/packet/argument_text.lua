-- `arg` as text, and what is checked first when it is written.
-- frames: tcp udp arp tls6-extensions
local xdp = require "xdp"
xdp.attach(function(pkt, arg)
  print(arg:getstring(0), arg:getstring(1), #arg:getstring(2), arg:getstring(0, 1), tostring(arg))
  print(pkt:getstring(0, arg:getbyte(1) & 15) == tostring(pkt):sub(1, arg:getbyte(1) & 15))
  local n = arg:getbyte(1) & 3
  if n == 0 then arg:setbyte(9, 1) end
  if n == 1 then arg:getstring(1, 2) end
  if n == 2 then arg:setstring(0, "") end
  arg:getstring(3)
end)
