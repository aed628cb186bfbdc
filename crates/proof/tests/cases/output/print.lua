-- `print`, `tostring`, `type` of everything that packet code has.
-- frames: tcp udp icmp6 arp
local xdp = require "xdp"
xdp.attach(function(pkt)
  print()
  print(1, -1, nil, true, false, "text", "", "a\0b")
  local n = pkt:getint64(3)
  local flag, maybe = n > 0, pkt.tcp and n
  print(n, flag, maybe, pkt:getstring(0, 6), pkt.payload)
  print(tostring(n), tostring(flag), tostring(nil), tostring(maybe), tostring("x"))
  print(type(n), type(flag), type(maybe), type(pkt), type(print), type(pkt.eth), type("x"), type(nil))
  print(math.type(n), math.tointeger(n), tonumber("12"), tonumber(n), math.type("1"))
end)
