-- The Internet checksum of bytes: of all, of a part, of nothing, of odd ones; places that come out of the packet; bounds.
-- frames: udp tcp tcp-options tls6 hex:f1f2f3f4f5f6f7f8000140c0ff3f417f8081 hex:00000000000000000000000000000000 hex:ffffffffffffffffffffffffffffffff
local xdp = require "xdp"

local turn = 0
xdp.attach(function(pkt, arg)
  print(pkt:checksum(), pkt:checksum(0), pkt:checksum(1), pkt:checksum(7, 3), pkt:checksum(#pkt), pkt:checksum(3, 0))
  for n = 0, 13 do print(n, pkt:checksum(0, n), pkt:checksum(n), pkt:checksum(n, 13 - n)) end
  local at = pkt:getuint8(3) & 7
  print(pkt:checksum(at), pkt:checksum(at, 8), pkt:checksum(at + 1, #pkt - at - 1), pkt:checksum(nil, at))
  print(arg:checksum(), arg:checksum(1), arg:checksum(0, 1), arg:checksum(2), arg:checksum(1, 0))
  if pkt.ip and pkt.ip.version == 4 then
    local sum = pkt:checksum(14, pkt.ip.header_length)
    print(sum, pkt:checksum(14, 10) , pkt:checksum(26, pkt.ip.header_length - 12))
  end
  turn = turn + 1
  if turn == 1 then pkt:checksum(#pkt - 1, 2) end
  if turn == 2 then pkt:checksum(-1) end
  if turn == 3 then pkt:checksum(#pkt + 1) end
  if turn == 4 then pkt:checksum(1, -1) end
  if turn == 5 then arg:checksum(0, 3) end
  if turn == 6 then print(pkt:checksum(at, #pkt)) end
end)
