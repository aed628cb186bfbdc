-- `gmatch` on a subject that depends on the packet: bytes of the packet, or a constant.
-- frames: hex:6162636420656667206869206a6b206c6d6e6f707172 hex:61626364206566672068692020203d
local xdp = require "xdp"
xdp.attach(function(pkt)
  local a, b, c = #pkt > 20, pkt:getstring(0, 9), "x yy zzz"
  for w in (a and b or c):gmatch("%w+") do print(w) end
  local n = 0
  for k, v in (a and "k=1,l=2" or b):gmatch("(%w)(=?)") do n = n + #k + 2 * #v end
  for at in (a and "" or c):gmatch("()") do n = n + at end
  print(n)
end)
