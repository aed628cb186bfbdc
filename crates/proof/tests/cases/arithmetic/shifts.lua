-- Shifts by any count: 64 and more give 0, negative ones go the other way (manual § 3.4.2).
-- frames: hex:f1f2f3f4f5f6f7f8000140c0ff3f417f8081 hex:01000000000000000001fec0ff3f417f8081 tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local a = pkt:getint64(0)
  for i = 8, 13 do
    local count = pkt:getint8(i)
    print(count, a << count, a >> count, -1 << count, -1 >> count, 1 << count, a >> -count, a << -count)
    local wide = pkt:getuint8(i)
    print(wide, a << wide, a >> wide)
  end
  print(a << 0, a << 1, a << 63, a << 64, a << 65, a << -1, a << -63, a << -64, a << math.mininteger)
  print(a >> 0, a >> 1, a >> 63, a >> 64, a >> 65, a >> -1, a >> -63, a >> -64, a >> math.mininteger)
  local far = pkt:getint64(6)
  print(a << far, a >> far, 1 << far, 1 >> far)
end)
