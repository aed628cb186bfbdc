-- An offset whose range is known before a loop, in it, on two ways with constants that need a comparison and that need none.
-- frames: tcp udp tcp6 icmp arp vlan-tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local ip, t = pkt.ip, pkt.tcp
  if not ip then return end
  local off = 14 + ip.header_length
  for w = 0, 1 do
    if t then pkt:setbyte(off + 13, 1) else pkt:setbyte(off + 5, 2) end
  end
  local base = pkt.vlan and 18 or 14
  local behind = base + ip.header_length
  for w = 0, 1 do
    pkt:setuint16(base + 16, 7)
    pkt:setuint16(behind + 16, 5)
  end
  if off > 60 then return end
  local i = 0
  while i < #pkt do
    i = i + 20
    if t then print(pkt:getbyte(off + 13)) else print(pkt:getuint16(off + 5)) end
  end
end)
