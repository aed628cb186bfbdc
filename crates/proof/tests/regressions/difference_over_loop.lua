-- A difference that is 0, but that nobody has computed, as an offset behind a loop; a length that is proved by way of another address.
-- frames: tcp udp short
local xdp = require "xdp"
xdp.attach(function(pkt)
  local o, n = #pkt - #pkt, 0
  for i = 1, #pkt do n = n + i end
  print(pkt:getbyte(o), n)
  local x = ("10"):find(pkt.udp and "1" or "0")
  print(pkt:getbyte(o + 3), x)
  pkt:setbyte(o, 1)
end)
