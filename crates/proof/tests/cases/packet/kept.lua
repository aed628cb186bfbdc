-- Strings of packet bytes stay what they were when the packet is written.
-- frames: tcp udp:hello icmp6
local xdp = require "xdp"
xdp.attach(function(pkt)
  local before, rest = pkt:getstring(0, 6), pkt:getstring(6, 20)
  local payload = pkt.payload
  pkt:setstring(0, "abcdef")
  pkt:setbyte(6, 65)
  print(before == pkt:getstring(0, 6), rest == pkt:getstring(6, 20), pkt:getstring(0, 7), before, #rest)
  pkt:setstring(1, pkt:getstring(0, 7))
  print(pkt:getstring(0, 14), payload)
  for i = 0, 3 do
    local old = pkt:getstring(i, 2)
    pkt:setuint16(i, 0x4142 + i)
    print(old, pkt:getstring(i, 2))
  end
end)
