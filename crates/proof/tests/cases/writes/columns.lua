-- Addresses of tables of load time, assigned; an array of addresses, a field of one of several tables, and one that is none.
-- frames: udp-0-9:x udp-1-9:x udp-2-9:x udp-3-9:x udp-4-9:x tcp udp6
local xdp = require "xdp"

local servers = {
  { mac = "02:00:00:00:00:11", ip = "192.0.2.1", port = 80, ip6 = "2001:db8::1" },
  { mac = "02:00:00:00:00:12", ip = "192.0.2.2", port = 81, ip6 = "2001:db8::2" },
  { mac = "02:00:00:00:00:13", ip = "192.0.2.3", port = 82, ip6 = "2001:db8::3" },
  { mac = "no address", ip = "192.0.2.256", port = 65536, ip6 = "192.0.2.4" },
}
local macs = { "02:00:00:00:00:21", "02:00:00:00:00:22", "02:00:00:00:00:23" }

xdp.attach(function(pkt)
  local ip, udp = pkt.ip, pkt.udp
  if ip and ip.version == 6 then
    ip.dst = servers[#pkt % 3 + 1].ip6
    print(ip.dst)
  elseif udp then
    local server = servers[udp.sport]
    pkt.eth.src = macs[udp.sport % 3 + 1]
    print(pkt.eth.src, pkt.eth.src == macs[1])
    if server then
      pkt.eth.dst = server.mac
      ip.dst = server.ip
      udp.dport = server.port
      print(pkt.eth.dst, ip.dst, udp.dport, ip.dst == server.ip, pkt.eth.dst == server.mac)
    end
  end
end)
