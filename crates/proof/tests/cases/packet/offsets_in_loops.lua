-- Offsets and indices that a loop compares are proved to the verifier at each access, also where a frame lies in several buffers; a
-- text that is kept can begin at the frame's last byte.
-- frames: all udp:x*3600
local xdp = require "xdp"
local squares = { 0, 1, 4, 9, 16, 25, 36, 49 }
local last, kept = 0, {}
xdp.attach(function(pkt)
  local turns, n = 0, #pkt
  local at = n & 7
  repeat
    last = (pkt.ip and pkt.ip.src or "none"):byte(turns + 1) or 0xffff
    turns = turns + 1
    if at > turns then print(at, squares[at + 1], pkt:getbyte(at)) end
  until turns >= 3 or last << 19 <= (last | -1)
  kept[n & 3] = (pkt.payload or "none"):sub(1, 20)
  print(last, turns, kept[n & 3])
end)
