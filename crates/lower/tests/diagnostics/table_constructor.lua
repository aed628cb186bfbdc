local xdp = require "xdp"

xdp.attach(function(pkt)
  local flow = { src = pkt.ip and pkt.ip.src, length = #pkt }
  print(flow.src, flow.length)
end)
