-- Messages are any bytes: they are neither UTF-8 nor made it, and differ where their bytes do.
-- frames: hex:00ffc3fe80414200000000000000 hex:01ffc3fe80414200000000000000 hex:02ffc3fe80414200000000000000
-- frames: hex:03ffc3fe80414200000000000000 hex:04ffc3fe80414200000000000000 hex:05ffc3fe80414200000000000000
-- frames: hex:06ffc3fe80414200000000000000 hex:07ffc3fe80414200000000000000 hex:08ffc3fe80414200000000000000
local xdp = require "xdp"
local known, own = {}, {["\xe9"] = string.rep}
xdp.attach(function(pkt)
  local n, text = pkt:getuint8(0), pkt:getstring(1, 6)
  if n == 0 then error(text) end
  if n == 1 then error("\xff\x80 known", 0) end
  if n == 2 then error("\xfe" .. text .. "\0\xc3(", 0) end
  if n == 3 then error(text:rep(3, "\xe2\x82"), 0) end
  if n == 4 then return known["\xff\xfe"].x end
  if n == 5 then return known[text] .. "\x80" end
  if n == 6 then return known["\xc3(\0x"]() end
  if n == 7 then return n | "\xe9" end
  if n == 8 then return own["\xe9"]({}) end
end)
