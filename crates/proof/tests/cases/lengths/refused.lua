-- Lengths that packets cannot have, and arguments that are none.
-- frames: udp*20 udp/14 arp*2
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt, arg)
  turn = turn + 1
  local n = pkt:getuint8(14)
  if turn == 1 then pkt:grow(-1) end
  if turn == 2 then pkt:grow(65536) end
  if turn == 3 then pkt:grow(65535) end
  if turn == 4 then pkt:grow(n * 948 + 100) end
  if turn == 5 then pkt:grow(65500, "head") end
  if turn == 6 then pkt:shrink(#pkt - 13) end
  if turn == 7 then pkt:shrink(#pkt - 13, "head") end
  if turn == 8 then pkt:shrink(-n) end
  if turn == 9 then pkt:shrink(1 << 40) end
  if turn == 10 then pkt:grow() end
  if turn == 11 then pkt:grow("x") end
  if turn == 12 then pkt:grow(1, "front") end
  if turn == 13 then pkt:grow(1, 7) end
  if turn == 14 then pkt:grow(1, true) end
  if turn == 15 then arg:grow(1) end
  if turn == 16 then pkt:grow(math.mininteger) end
  if turn == 17 then pkt:grow("3", nil) print(#pkt) end
  if turn == 18 then pkt:shrink(#pkt - 14) print(#pkt, pkt.eth.type, pkt.ip == nil) end
  if turn == 19 then print(select("#", pkt:grow(1, "tail"))) end
  if turn == 20 then pkt:setuint8(22, 99) pkt:shrink(#pkt) end
  if turn == 21 then pkt:grow(30) print(#pkt) end
  if turn == 22 then pkt:grow(1) pkt:shrink(2) print(#pkt) end
  if turn == 23 then pkt:shrink(13) print(#pkt) end
end)
