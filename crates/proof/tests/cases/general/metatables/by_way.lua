-- A metatable that depends on the path: the table needs memory.
-- frames: tcp udp icmp arp hex:0001020304050607080910111213 hex:0504030201000000000000000000 hex:ff00ff00ff00ff00ff00ff00ff00
local xdp = require "xdp"

xdp.attach(function(pkt)
  local t = setmetatable({}, { __index = function(_, key) return key .. "!" end })
  if pkt:getuint8(3) % 2 == 0 then setmetatable(t, nil) end
  print(t.b, getmetatable(t) == nil)
end)
