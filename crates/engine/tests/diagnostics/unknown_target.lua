local xdp = require "xdp"

xdp.attach(function(pkt)
  if #pkt > 60 then return redirect { cpu = 1, queue = #pkt } end
  return redirect { group = { "eth1", pkt:getstring(20, 4) } }
end)
