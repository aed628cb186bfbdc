local xdp = require "xdp"

xdp.attach(function(pkt)
  local first = 1
  if pkt.tcp then first = #pkt / 2 end
  for offset = first, 40 do
    if offset == 7 then return 1 end
  end
end)
