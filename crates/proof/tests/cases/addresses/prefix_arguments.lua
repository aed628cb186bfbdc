-- Arguments of the wrong type, and texts that are numbers.
-- frames: udp:8 udp:9 udp:x udp6 icmp
local xdp = require "xdp"
local ip, mac = require "ip", require "mac"

xdp.attach(function(pkt)
  local text = pkt.payload
  if not text then return 1 end
  print(pcall(function() local result = ip.prefix("10.1.2.3", text) return result end))
  print(pcall(function() local result = ip.prefix(ip.parse(text), 8) return result end))
  print(pcall(function() local result = ip.prefix(8, 8) return result end))
  print(pcall(function() local result = ip.prefix("10.1.2.3", "0x10") return result end), pcall(function() local result = ip.prefix("10.1.2.3", 8.0) return result end))
  print(pcall(function() local result = ip.prefix("10.1.2.3", 8.5) return result end))
  print(pcall(function() local result = mac.parse(pkt.ip) return result end))
  print(pcall(function() local result = mac.parse() return result end))
  print(pcall(function() local result = ip.parse(pkt.vlan) return result end))
  print(pcall(function() local result = ip.prefix(pkt, 8) return result end))
  print(pcall(function() local result = ip.parse(true) return result end))
end)
