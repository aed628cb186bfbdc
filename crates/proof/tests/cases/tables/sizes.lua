-- Constant tables of several sizes, read by integers from the packet, inside and outside of their keys.
-- frames: tcp udp icmp6 hex:000102030405060708090a0b0c0d hex:ff7f80636465ffff10270f270000 hex:6400640064006400640064006400
local xdp = require "xdp"
local sizes = {}
local function filled(n)
  local t = {}
  for i = 1, n do t[i] = i * i - 50 * i end
  return t
end
local t0, t1, t4, t5, t100, t10000 = filled(0), filled(1), filled(4), filled(5), filled(100), filled(10000)
xdp.attach(function(pkt)
  for i = 0, 12, 2 do
    local k = pkt:getuint16(i)
    local s = pkt:getint8(i)
    print(k, t0[k], t1[k], t4[k], t5[k], t100[k], t10000[k])
    print(s, t0[s], t1[s], t4[s], t5[s], t100[s], t10000[s])
  end
  local far = pkt:getint64(0)
  print(t1[far], t5[far], t100[far], t10000[far], t10000[far * 0x100000000], #t0, #t1, #t100, #t10000)
end)
