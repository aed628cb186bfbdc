local xdp = require "xdp"

xdp.attach(function(pkt)
  local sum = function() return 0 end
  for i = 1, #pkt do
    local rest, byte = sum, pkt:getbyte(i - 1)
    sum = function() return byte + rest() end
  end
  if sum() > 1000 then return 1 end
end)
