-- Tables of prefixes: the longest one that contains the address, however it was written, and deletion of exactly one.
-- frames: tcp udp icmp tcp6 udp6 arp tcp udp all
local xdp = require "xdp"
local nets = map { lpm = true, value = "int", capacity = 6 }
local names = map { lpm = true, key = "ipv6", value = "string:8" }
nets["0.0.0.0/0"] = 0
nets["192.0.2.77/24"] = 24
nets["192.0.2.7"] = 32
names["2001:db8::/32"] = "site"
names["::/0"] = "any"
local n = 0
xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then return 1 end
  n = n + 1
  if ip.version == 4 then
    print(nets[ip.src], nets[ip.dst], nets["192.0.2.7"], nets["192.0.2.8"], nets["10.1.2.3"])
    if n == 1 then
      nets["192.0.2.7/32"] = nil
      nets["192.0.2.6/31"] = 31
    elseif n == 2 then
      nets["192.0.2.0/24"] = nil
      nets["192.0.2.0/25"] = nil
      nets["10.0.0.0/8"] = n
    elseif n == 4 then
      nets["10.0.0.0/9"], nets["10.0.0.0/10"], nets["10.0.0.0/11"] = 1, 2, 3
      nets["10.0.0.0/12"] = 4
    end
  else
    print(names[ip.src], names["::1"])
    names["2001:db8::/48"] = "longer"
  end
end)
