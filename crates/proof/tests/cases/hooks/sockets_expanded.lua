-- Frames sent to sockets: of the queue by which they have come in, of another one, of one that nobody receives from.
-- frames: udp tcp arp udp6 icmp arp/15 tcp/60 tls
local xdp, xsk = require "xdp", require "xsk"

for _, queue in ipairs { 2, 0, 7 } do
  xsk.receive(queue, function() end)
end

xdp.attach(function(pkt)
  print(redirect { socket = 0 }, redirect { socket = pkt.queue })
  if pkt.tcp then redirect { socket = 2 } end
  if pkt.icmp then redirect { socket = 1 } end
  return redirect { socket = #pkt & 7 }
end)
