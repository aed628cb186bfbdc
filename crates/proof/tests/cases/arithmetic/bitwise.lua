-- `&`, `|`, `~` with constants of every width and with each other.
-- frames: tcp hex:f1f2f3f4f5f6f7f8000140c0ff3f417f8081 arp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local a, b = pkt:getint64(0), pkt:getint64(5)
  print(a & b, a | b, a ~ b, ~a, ~~a, a & ~b)
  print(a & 0xff, a & 0xffff, a & 0xffffffff, a & 0x7fffffff, a & 0x80000000, a & 0xffffffff00000000, a & -1, a & -256)
  print(a | 0xff, a | 0x80000000, a | math.mininteger, a | -1, a | 0)
  print(a ~ 0xff, a ~ 0x80000000, a ~ math.mininteger, a ~ -1, a ~ 0, a ~ a)
  print("3" + pkt:getuint8(0), pkt:getuint8(0) * "0x10", "7" // pkt:getuint8(0), -"3" + pkt:getuint8(1))
end)
