-- Concatenation of texts and numbers.
-- frames: udp:hello udp-empty tcp icmp6 hex:0000000000000080ffffffffffffffff
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n, m = pkt:getint64(0), pkt:getint8(12)
  local s = pkt.payload or "none"
  local line = "n=" .. n .. " m=" .. m .. " s=" .. s
  print(line, #line, n .. "", m .. m, s .. s, "" .. s == s)
  local t = ""
  for i = 1, 5 do t = t .. i .. "," end
  print(t, #t, t == "1,2,3,4,5,")
  if line > "n=5" then return 1 end
end)
