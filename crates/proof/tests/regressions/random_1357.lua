-- Random program 1357, made small: MH0505 the kernels verifier rejects program random math between pkt pointer and register with unbounded min value is not allowed.
-- frames: hex:bfe141defcf8ad372a6b8ab390b6528330daecdde4bd709984a56aa67866d3cd50b63e5353ebfc3ec4a7e7b7470e26d3fa0839678b7ccf0fca2de319d6f768ff8f98be75d9df3349a0f034b8581662981125ae6c122ecfbc4576b8758eadd67044d3f3251325b667629494cf4af72d67e891d1f6e923479502b61dfe7b97176b0942b0a02a9745478e045659fd11a8eac1a630214944c89ae7b8cb61d7e0c721dd0bf0b2cb40e1e276d171aa1f16e153e29577de8d2cbca2ac8678e2c0dc15226f2bd57c3e67fcbf81506fec0e85
local xdp = require "xdp"
local u0 = (100)
local function f0(p1)
  return (~ math.abs((256))), ((p1 - (64)) ~ (p1 | p1))
end
xdp.attach(function(pkt)
  local n = #pkt
  for i10 = 1, ((0x7fffffff) << (n & 63)) & 7 do
    for i12 = ((math.max(u0, (0xffffffff)) ~= (- (256))) and u0 or u0) & 15, (f0(i10)) & 7 do
      local b14 = (((27 > i12) and ((1 << 40) ~= (0x80000000))) or ((u0 // ((math.mininteger) | 1)) <= pkt:getint64(1)))
      print("x" .. pkt:getint16(((pkt.ip ~= nil) and i12 or (10))), pkt:getuint8(pkt:getint64(i10) & 7))
    end
  end
  local v24 = math.min((select(2, (u0 ~ (7)), (n & u0))), math.min((n ~ 17), pkt:getint32(0)))
  pkt:setint32(n, math.min((select(1, v24, (64))), (~ u0)))
end)
