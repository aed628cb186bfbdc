local xdp = require "xdp"

xdp.attach(function(pkt)
  for offset = 0, 10, 0.5 do
    if pkt:getbyte(offset) == 255 then return 1 end
  end
end)
