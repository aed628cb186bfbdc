-- Integer keys with holes, negative ones, and far apart.
-- frames: tcp udp hex:ffffffffffffffff0000000000000080 hex:50000000000000005000bb0116000500 hex:0a00000000000000bb0150001600ffff
local xdp = require "xdp"
local ports = { [80] = "http", [443] = "https", [22] = "ssh", [-1] = "minus", [1 << 40] = "far", [0] = "zero" }
local many = {}
for i = -300, 300, 3 do many[i * 7] = i end
xdp.attach(function(pkt)
  print(ports[pkt:getint64(0)], ports[pkt:getint64(6)], ports[1 << pkt:getuint8(0) % 64], many[pkt:getint64(0)])
  for i = 0, 12 do
    print(ports[pkt:getuint16(i)], ports[pkt:getint16(i)], many[pkt:getint16(i)], many[pkt:getint8(i) * 21])
  end
end)
