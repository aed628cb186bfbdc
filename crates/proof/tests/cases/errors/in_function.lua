-- The position is that of the failing line, in whichever function it is.
-- frames: tcp udp arp
local xdp = require "xdp"
local function port(header)
  return header.dport
end
local function check(pkt)
  if pkt.udp then
    error("udp is not wanted")
  end
  return port(pkt.tcp)
end
xdp.attach(function(pkt)
  local p = check(pkt)
  print(p)
end)
