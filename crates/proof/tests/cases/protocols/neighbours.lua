-- What `pkt.icmp` has of neighbour discovery, on frames of every kind and every prefix of a solicitation; other types, and options of other
-- kinds and lengths.
-- frames: all truncated:neighbour
local xdp = require "xdp"
local seen = map { key = "ip", value = "mac", capacity = 16 }
xdp.attach(function(pkt)
  local icmp = pkt.icmp
  if not icmp then return 1 end
  print(icmp.type, icmp.target, icmp.link_address)
  local target, address = icmp.target, icmp.link_address
  if target and address then
    seen[target] = address
    print(seen["2001:db8::7"], target == "2001:db8::7", address == pkt.eth.src)
  end
  if pkt.eth and pkt.ip.version == 6 then
    for _, kind in ipairs { 133, 134, 136, 137, 128 } do
      icmp.type = kind
      print(kind, icmp.target, icmp.link_address)
    end
    icmp.type = 135
    if #pkt == 94 then
      pkt:setuint8(79, 0)
      print(icmp.link_address)
      pkt:setuint8(79, 2)
      print(icmp.link_address)
      pkt:setuint16(78, 0x0102)
      print(icmp.link_address)
      pkt:setuint8(19, 39)
      print(icmp.link_address, icmp.target)
    end
  end
end)
