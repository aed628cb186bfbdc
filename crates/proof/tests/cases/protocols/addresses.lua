-- Addresses compare as the text that people write.
-- frames: all
local xdp = require "xdp"
local hosts = { ["192.0.2.7"] = 1, ["2001:db8::1"] = 2, ["198.51.100.1"] = 3 }
xdp.attach(function(pkt)
  print(pkt.eth.src == "02:00:00:00:00:0a", pkt.eth.dst == "52:54:00:12:34:56", pkt.eth.dst == "52:54:00:12:34:5")
  local ip = pkt.ip
  if not ip then return 1 end
  print(ip.src, ip.dst, pkt.eth.src, pkt.eth.dst)
  print(ip.src == "192.0.2.7", ip.dst == "192.0.2.7", ip.src == "2001:db8::1", ip.dst == "2001:db8:1::2", ip.src == ip.dst)
  print(hosts[ip.src], hosts[ip.dst], ip.src == "192.0.2.07", ip.src == "2001:DB8::1", ip.src == 1)
end)
