-- Operators on values of the wrong type, known only at packet time.
-- frames: hex:0000000000000000000000000000 hex:0100000000000000000000000000 hex:0200000000000000000000000000
-- frames: hex:0300000000000000000000000000 hex:0400000000000000000000000000 hex:0500000000000000000000000000
-- frames: hex:0600000000000000000000000000 hex:0700000000000000000000000000 hex:0800000000000000000000000000
-- frames: hex:0900000000000000000000000000 hex:0a00000000000000000000000000 hex:0b00000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = pkt:getuint8(0)
  local absent
  local flag = n > 100
  if pkt:getuint8(1) == 1 then absent = 5 flag = 7 end
  if n == 0 then return absent + 1 end
  if n == 1 then return 1 - flag end
  if n == 2 then return absent < 1 end
  if n == 3 then return 1 < flag end
  if n == 4 then return absent .. "x" end
  if n == 5 then return #absent end
  if n == 6 then return -flag end
  if n == 7 then return absent & 1 end
  if n == 8 then return ~flag end
  if n == 9 then return absent() end
  if n == 10 then return absent.field end
  for i = 1, absent do print(i) end
end)
