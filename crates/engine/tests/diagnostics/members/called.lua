-- One warning is enough where the nil is called.
require("xdp").attach(function(pkt)
  if #pkt > 2000 then string.starts("a", "b") end
  return math.PASS
end)
