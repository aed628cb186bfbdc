local xdp = require "xdp"
local rules = {}
xdp.attach(function(pkt)
  for i = pkt:getbyte(0), #rules do
    if rules[i].port == 5 then return 1 end
  end
end)
