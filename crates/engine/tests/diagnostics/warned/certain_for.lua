local xdp = require "xdp"

local config = {}
xdp.attach(function(pkt)
  for i = 1, config.count do
    if pkt:getbyte(i) == 0 then return 1 end
  end
end)
