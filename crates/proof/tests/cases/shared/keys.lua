-- Keys that are records are compared by their fields; keys and values have the declared types.
-- general: tables as keys, in general code
-- frames: tcp udp tcp icmp tcp6 arp tcp udp udp6 tcp6
local xdp = require "xdp"
local by_end = map { key = { src = "ip", port = "int" }, value = "int", capacity = 3 }
local typed = map { key = "ipv4", value = { n = "int", name = "string:3" } }
xdp.attach(function(pkt)
  local ip, transport = pkt.ip, pkt.tcp or pkt.udp
  if not ip then return 1 end
  if transport then
    local key = { src = ip.src, port = transport.dport }
    by_end[key] = (by_end[key] or 0) + 1
    print(by_end[{ port = transport.dport, src = ip.src }], by_end[{ src = "10.0.0.1", port = 1 }])
    if #pkt % 7 == 0 then by_end[key] = nil end
  end
  typed["192.0.2.1"] = { n = #pkt, name = pkt.udp and "udp" or "tcp" }
  if pkt.icmp then typed["192.0.2.1"] = { name = "icmp" } end
  print(typed["192.0.2.1"].name, typed["192.0.2.2"])
  typed[ip.src] = { n = 1 }
end)
