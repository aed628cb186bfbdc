-- Errors that are certain, in code that is reached and in code that is not: they are errors for the packets that get there.
-- frames: udp tcp icmp arp udp6 short
local xdp = require "xdp"
local config = {}
xdp.attach(function(pkt)
  if pkt.tcp then
    print("tcp")
    for i = 1, config.count do print(i) end
  elseif pkt.icmp then
    print("icmp")
    coutn(pkt)
  elseif pkt.udp and pkt.ip.version == 6 then
    local n
    return n + 1
  elseif pkt.udp then
    print("udp")
    return pkt.udp < pkt.ip
  elseif #pkt == 14 then
    print(("x"):frobnicate())
  end
  local limit = {}
  print(limit .. "x")
end)
