-- Division by zero is an error of its own for each operator.
-- frames: hex:00000000000000000000000000000000 hex:00000000000001000000000000000000 hex:01000000000002000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local zero = pkt:getuint8(0)
  if pkt:getuint8(6) == 1 then
    print(5 % zero)
  end
  print(5 // zero)
  if pkt:getuint8(6) == 2 then
    print(pkt:getuint8(1) // 0)
  end
end)
