-- `math.tointeger` (manual § 6.8) takes numerals, known ones and those of the packet.
-- frames: udp tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  print(math.tointeger("12"), math.tointeger(" 0x10 "), math.tointeger("x"), math.tointeger(""), math.tointeger(true))
  local port = pkt.udp and tostring(pkt.udp.dport) or pkt:getstring(0, 2)
  print(math.tointeger(port), math.tointeger(#pkt), math.type(math.tointeger(port)))
  local value = pkt.tcp and port or 7
  print(math.tointeger(value))
  if pkt.tcp then math.tointeger() end
end)
