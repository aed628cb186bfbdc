-- Options of neighbour discovery, on every prefix of a router's advertisement, and of other lengths, kinds and messages.
-- frames: all truncated:router long:router router
local xdp = require "xdp"

local function show(icmp)
  print(icmp.type, icmp.target, icmp.link_address, icmp.source_link_address, icmp.target_link_address)
  print(icmp.prefix, icmp.prefix_length, icmp.mtu, icmp.dns_server)
end

xdp.attach(function(pkt)
  local icmp = pkt.icmp
  if not icmp then return 1 end
  show(icmp)
  if not pkt.eth or pkt.ip.version ~= 6 or #pkt < 182 then return end
  for _, kind in ipairs { 133, 135, 136, 137, 128, 134 } do
    icmp.type = kind
    show(icmp)
  end
  -- Where the options are: an address at 70, a largest packet at 78, prefixes at 86 and 118, a server at 150, an address at 174.
  for _, change in ipairs { { 79, 2 }, { 79, 1 }, { 87, 0 }, { 87, 3 }, { 87, 4 }, { 151, 2 }, { 151, 4 }, { 151, 5 }, { 151, 3 }, { 71, 0 } } do
    pkt:setuint8(change[1], change[2])
    show(icmp)
  end
end)
