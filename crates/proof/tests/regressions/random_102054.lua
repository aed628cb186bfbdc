-- Random program 102054, made small: the verifier rejects the program.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local function f11(p12, p13)
  if (0 >= p13) then
    print()
  end
end
xdp.attach(function(pkt)
  local n = #pkt
  if (pkt.ip ~= nil) then
  elseif true then
    local v16 = f11(pkt:getuint32(n), (0 // u2))
  end
  print()
  local v17 = f11(pkt:getuint16(0), 0)
  if (pkt.udp ~= nil) then
    v18 = 0
  end
  u2 = 0
end)
