-- The first bits of addresses of packets: numbers of bits that are known, and others; prefixes as keys.
-- frames: all udp:\x00 udp:\x01 udp:\x08 udp:\x1f udp:\x20 udp:\x21 udp:\xff hex:ffffffffffffffffffffffff86dd60000000000111400102030405060708f9fafbfcfdfeff001112131415161718f1f2f3f4f5f6f7f81234123400090000
-- frames: udp:abc udp:\x00
local xdp = require "xdp"
local ip = require "ip"
local networks = map { key = "ip", value = "int", capacity = 256 }
local local_network = ip.prefix("192.0.2.77", 24)

xdp.attach(function(pkt)
  local header = pkt.ip
  if not header then return 1 end
  local length = header.version == 4 and 24 or 48
  local network = ip.prefix(header.src, length)
  networks[network] = (networks[network] or 0) + 1
  print(header.src, network, networks[network], network == local_network, network == "2001:db8::")
  for _, bits in ipairs { 0, 1, 8, 31, 32 } do
    print(bits, ip.prefix(header.dst, bits))
  end
  if header.version == 6 then
    for _, bits in ipairs { 33, 63, 64, 65, 96, 127, 128 } do
      print(bits, ip.prefix(header.dst, bits))
    end
  end
  local payload = pkt.payload
  if payload and #payload > 0 then
    print(ip.prefix(header.src, payload:byte() or 0))
  end
end)
