local xdp = require "xdp"
local ranges = map { key = "string:8", value = { low = "int", high = "int" } }
xdp.attach(function(pkt)
  local range = ranges["web"]
  if range then range[0] = #pkt end
end)
