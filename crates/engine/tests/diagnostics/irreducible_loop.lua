local xdp = require "xdp"

xdp.attach(function(pkt)
  local i = 0
  if #pkt > 100 then goto middle end
  ::top::
  i = i + 1
  ::middle::
  if pkt:getbyte(i) == 0 then return 1 end
  if i < 50 then goto top end
end)
