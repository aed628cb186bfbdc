-- Random program 1329, made small: MH0505 the kernels verifier rejects program random The sequence of  jumps is too complex.
-- frames: hex:65db3e14831aedcfebecafec2ee617a53ef13b445e3a473cc41b7a36a74b693d037a9c27198a85ce816ea6bcbcc12e7a97955564249f4ba7af7ad0d74e62f7fd26ef75d34543a23d3883f1fb9faffab114420f2ece5c4235dd58608178a90c5fb722ea87c019c83f11a74f2f0c66dcff85b878581f3fba4c0f154cddda5c782fc3
local xdp = require "xdp"
local t = { 3, -1, 255, 4096, 7, 0, -128, 1 << 40 }
local function f0(p1, p2)
  local c3 = 0
  repeat
    c3 = c3 + 1
    print(not (u0 >= c3), ((math.ult(((math.mininteger) | (0xffffffff)), (c3 | (0))) and (-256) or c3) < (c3 % (18 | 1))), (p1 * (t[c3 & 15] or (3))))
  until c3 >= 2 or math.ult(p1, p2)
end
local function f1(p6, p7, p8)
  return (- (((10) <= (p6 & (64))) and p8 or (100))), (f0((f0((-256), (0x7fffffff))), (f0(5, p8)))), ((t[p8 & 15] or u0) ~ (p6 // ((math.mininteger) | 1)))
end
xdp.attach(function(pkt)
  local n = #pkt
  u0 = pkt:getint64(4)
  local c9 = 0
  while c9 < 5 and ((n - n) == math.min(n, (-256))) do
    c9 = c9 + 1
    do
      if (pkt:getuint16(10) <= (u0 - c9)) then
        u0 = u0 + (n >> (1))
        local v11 = ((pkt:getint8(10) ~= (c9 + -5)) and math.abs((f1(c9, (-8), (8)))) or c9)
      else
        local v12 = ((((0x7fffffff) - (0xffffffff)) << (select(1, 17, n))) >> 10)
      end
      local c13 = 0
      repeat
        c13 = c13 + 1
        do
          local v15 = ((c13 % 3) // ((f0((f1(c9, c13, c13)), (- c9))) | 1))
        end
        ::next14::
      until c13 >= 4 or ((c9 - n) < (~ (0)))
    end
    ::next10::
  end
  local v16 = f0(pkt:getuint32(0), (n | u0))
  local b17 = (math.ult(u0, ((1 << 40) ~ u0)) or (pkt.icmp ~= nil))
end)
