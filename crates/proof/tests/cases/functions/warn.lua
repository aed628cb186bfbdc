-- `warn` (manual § 6.2): off until `@on`, from packet to packet; strings only; control messages of one piece.
-- frames: udp tcp udp tcp
local xdp = require "xdp"
local shown = 0
xdp.attach(function(pkt)
  warn("before ", #pkt)
  warn("@on")
  warn("a warning")
  warn("in ", "pieces: ", pkt.udp and "udp" or "tcp", " ", #pkt)
  warn("@on", " is no control message in two pieces")
  warn("@unknown")
  warn("")
  warn(#pkt)
  if pkt.tcp then warn("@off") end
  warn("after")
  print(pcall(warn))
  print(pcall(warn, nil))
  print(pcall(warn, "a", {}))
  warn(pkt:getstring(42, 4))
  shown = shown + 1
  if shown > 2 then warn("a", shown == 3, "b") end
end)
