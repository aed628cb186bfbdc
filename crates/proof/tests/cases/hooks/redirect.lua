-- Packets sent elsewhere: by the name of an interface that stands in the code, that a packet makes or that a table has, by number; functions
-- that only some hooks have; arguments that are none.
-- frames: udp tcp arp udp6 icmp arp/15 tcp/60 tls
local xdp, tc = require "xdp", require "tc"

local ways = { [6] = "uplink", [17] = "guests" }
local ports = { "veth1", "veth2", "a-name-that-no-interface-can-have" }

local function way(pkt)
  local ip = pkt.ip
  if not ip then return redirect(7) end
  return redirect(ways[ip.proto] or "port" .. ip.proto)
end

local function try(f)
  print(pcall(f))
end

for _, hook in ipairs { xdp.attach, tc.ingress, tc.egress } do
  hook(function(pkt)
    print("way", way(pkt), redirect("eth0"), redirect(#pkt))
    try(function() redirect(0) end)
    try(function() redirect(-#pkt) end)
    try(function() redirect(nil) end)
    try(function() redirect({}) end)
    try(function() redirect() end)
    try(function() redirect(1 << 31) end)
    print(redirect(ports[#pkt % 3 + 1]), redirect("2"))
    return redirect(ports[#pkt % 3 + 1])
  end)
end

tc.ingress(function(pkt)
  print(tc.redirect_neigh("uplink"), tc.redirect_peer(3), (pcall(tc.redirect_neigh)))
  print(select("#", tc.clone("eth0")), tc.clone(#pkt), #pkt, pkt.ip and pkt.ip.dst)
  try(function() tc.clone(0) end)
  try(function() tc.clone() end)
  return pkt.tcp and tc.redirect_peer("veth" .. #pkt % 10)
end)

tc.egress(function(pkt)
  local payload = pkt:getuint16(12)
  tc.clone("eth1")
  try(function() return tc.redirect_peer("eth0") end)
  print(payload == pkt:getuint16(12), tc.redirect_neigh(#pkt))
  redirect("eth0")
end)
