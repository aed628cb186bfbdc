-- Headers are read in each turn of a loop that changes the packet, and again behind it: what the loop has compared is part of addresses there.
-- frames: hex:cd9756ac54ecd7b606bf460b8100461b4f8a6eb9cabf58770f4d4165d0f35b0cce6da0c39442c5bccbee907841fece6f00ccb336e94bc35cf3a503600d9b6b3cc525efa4337109c90153c6c529d77fb79b76062aa0bcfe4bb9b85a51901825fdeca5df78ce83ba1043229943cd
local xdp, tc = require "xdp", require "tc"
local limit = 255
xdp.attach(function(pkt)
  if (pkt[string.format("%s", (13 + (-256)) > 3 and "icmp" or "ip")] ~= nil) then
  end
  local held = pkt
  for n = 1, 2 do print(held and held.dns and held.dns.qdcount, held and held.ip and held.ip.proto) if pkt.eth then pkt:fix_checksums() end end
  print(held and held.dns and held.dns.id, held and held.vxlan and held.vxlan.vni, held and held.ip and held.ip.version)
end)
