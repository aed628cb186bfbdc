local xdp = require "xdp"
local state
xdp.attach(function(pkt)
  if state then if state > 5 then return 1 end state = state + 1 else state = 1 end
end)
