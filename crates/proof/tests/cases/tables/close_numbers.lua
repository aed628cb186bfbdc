-- Integers that lie close together as keys of tables of load time: sets and tables of values, negative ones, and what lies outside.
-- frames: udp-17-9:x udp-19-9:x udp-63-9:x udp-64-9:x udp-11211-9:x udp-11212-9:x udp-65535-9:x udp-0-9:x udp-1024-9:x
-- frames: udp6 tcp arp hex:ffffffffffff020000000001080600
local xdp = require "xdp"

local ports, named, last, negative, far, wide = {}, {}, {}, {}, {}, {}
for _, port in ipairs { 17, 19, 63, 64, 123, 1900, 11211 } do
  ports[port] = true
  named[port] = "port " .. port
end
for _, port in ipairs { 65535, 0, 17, 4096, 19, 60000 } do
  last[port] = port ~= 17
end
for n = -70, -6, 2 do
  negative[n] = n * n
end
for n = 1, 9 do
  far[math.maxinteger - n * 3] = n
  wide[n * 1000003 - 5000000] = -n
end

xdp.attach(function(pkt)
  local port = pkt.udp and pkt.udp.sport or #pkt
  print(port, ports[port], named[port], last[port])
  -- Any integer, not only what a port can be.
  local outside = (pkt:getuint8(12) == 8 and 81 or -65536) - port
  print(ports[outside])
  print(named[outside])
  print(last[outside])
  print(negative[outside], negative[port << 48])
  print(ports[port << 48])
  print(far[math.maxinteger - port + 14], far[math.mininteger + port], wide[port * 1000003 - 5000000 - 16 * 1000003])
  return ports[port] and 1 or 2
end)
