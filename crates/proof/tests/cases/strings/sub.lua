-- `string.sub` with positions from both ends, in and out of the string.
-- frames: udp:hello\sworld udp:x udp-empty tcp udp:0123456789abcdef
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:sub(1), s:sub(2), s:sub(-1), s:sub(-3), s:sub(0), s:sub(100), s:sub(-100))
  print(s:sub(1, 1), s:sub(2, 4), s:sub(4, 2), s:sub(-4, -2), s:sub(2, -2), s:sub(0, 3), s:sub(1, 100), s:sub(-100, 2))
  local i, j = #s // 2, #s - 2
  print(s:sub(i), s:sub(i, j), s:sub(-i), s:sub(-j, -i), s:sub(j, i), s:sub(i - 3, j - 3), s:sub(math.mininteger, math.maxinteger))
  print(("constant"):sub(i, i + 2), ("constant"):sub(-i, -2), string.sub("abc", 2))
end)
