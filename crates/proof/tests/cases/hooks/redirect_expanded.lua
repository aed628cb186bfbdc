-- Packets sent elsewhere, without `pcall`: names in the code, in tables, made of the packet; numbers, and what is none.
-- frames: udp tcp arp udp6 icmp arp/15 tcp/60 tls
local xdp, tc = require "xdp", require "tc"

local ways = { [6] = "uplink", [17] = "guests" }

local function way(pkt)
  local ip = pkt.ip
  if not ip then return redirect(7) end
  return redirect(ways[ip.proto] or "port" .. ip.proto)
end

local function send(pkt)
  local verdict = way(pkt)
  print(verdict, redirect(#pkt), redirect(pkt:getstring(0, 4)), redirect("2"))
  if pkt.icmp then redirect(pkt.icmp.code - 3) end
  if #pkt == 15 then redirect(nil) end
  return verdict
end

xdp.attach(send)
tc.egress(send)
tc.ingress(function(pkt)
  local before = pkt:getuint16(12)
  tc.clone("eth0")
  print(tc.redirect_neigh("uplink"), tc.redirect_peer(3), before == pkt:getuint16(12))
  if #pkt == 60 then return tc.redirect_peer(-1) end
  return pkt.udp and send(pkt)
end)
