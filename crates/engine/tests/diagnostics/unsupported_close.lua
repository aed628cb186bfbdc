local xdp = require "xdp"

local guard = setmetatable({}, { __close = function() print("done") end })
xdp.attach(function(pkt)
  local held <close> = guard
  if #pkt > 100 then return 1 end
end)
