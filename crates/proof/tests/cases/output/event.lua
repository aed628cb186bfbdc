-- Events: names and values of every type that they can have, in order with what is printed.
-- frames: all tcp:GET\s/ tcp udp tls arp
local xdp = require "xdp"
local count = 0
local function tell(name, ...)
  event(name, ...)
end
xdp.attach(function(pkt)
  count = count + 1
  print("before")
  event("none")
  event("frame", #pkt, count > 2, nil, "constant", pkt.eth and pkt.eth.src)
  if pkt.ip then
    event("from " .. pkt.ip.version, pkt.ip.src, pkt.payload, pkt.tcp and pkt.tcp.dport)
    tell(#pkt, pkt.udp ~= nil, -1)
  end
  print("after", count)
end)
