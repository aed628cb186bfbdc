-- Random program 4001835, made small: MH0505 the kernels verifier rejects program math between pkt pointer and register with unbounded min value is not allowed.
-- frames: hex:0000000000000000000000000000
do local tc = require 'tc' package.loaded.xdp = { attach = tc.ingress, detach = tc.detach } package.loaded['linux.xdp'] = { ABORTED = 2, DROP = 2, PASS = -1, TX = 0, REDIRECT = 2 } end local xdp, tc = require "xdp", require "tc"
local function f4(p5, p6, p7)
  for i9 = 0, 1 do
  end
  print()
end
xdp.attach(function(pkt)
  print(#pkt)
  local c13 = 0
  while c13 < 7 and (pkt.tcp ~= nil) do
    u2 = f4(1, 0, 0)
    print(((pkt.inner and pkt.inner.quic and pkt.inner.quic.version or 0) == (-1)))
  end
end)
