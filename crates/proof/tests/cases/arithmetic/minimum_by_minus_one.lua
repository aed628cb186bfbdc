-- The one quotient that does not fit wraps (manual § 3.4.1, `luaV_idiv`).
-- frames: hex:0000000000000080ffffffffffffffff0102030405060708
local xdp = require "xdp"
xdp.attach(function(pkt)
  local minimum, minus_one = pkt:getint64(0), pkt:getint64(8)
  print(minimum, minus_one, minimum // minus_one, minimum % minus_one, minimum // -1, minimum % -1)
  print(math.mininteger // minus_one, math.mininteger % minus_one, -minimum, math.abs(minimum))
end)
