-- Random program 6, made small: output.
-- frames: hex:d5a37fb37c63779965e9626c2b3816b6ab988f283f88ec30357092a7c1119926bf3e9d39ba9c55d6ed72d864518da05774624e1c6efb433b9111
local xdp = require "xdp"
local function f1(p2, p3, p4)
  local c5 = 0
  repeat
    c5 = c5 + 1
    print((~((2) | p3)), "x" .. (10 + c5))
  until c5 >= 6 or math.ult(p3, (p3 % 1000003))
end
xdp.attach(function(pkt)
  local n = #pkt
  local v15 = pkt:getbyte(0)
  local v16 = (f1((v15 << 24), math.max(v15, v15), math.abs(n)))
end)
