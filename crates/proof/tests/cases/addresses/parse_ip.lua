-- Addresses out of texts that come in packets: every way of writing one, and what is none.
-- frames: udp: udp:192.0.2.7 udp:0.0.0.0 udp:255.255.255.255 udp:1.2.3 udp:1.2.3.4.5 udp:1.2.3. udp:.1.2.3 udp:1..2.3 udp:01.2.3.4 udp:1.2.3.00
-- frames: udp:1.2.3.256 udp:1.2.3.4\s udp:\s1.2.3.4 udp:1.2.3.a udp:1.2.3.4444 udp:a.2.3.4 udp:1.2.3.4: udp:1.2.3.4:: udp:1.2.3.4:80
-- frames: udp::: udp:::1 udp:1:: udp:::1:: udp:::: udp::1 udp:1: udp:1 udp:: udp:abcd udp:2001:DB8::0:1 udp:2001:db8:0:0:0:0:0:1 udp:1:2:3:4:5:6:7:8
-- frames: udp:1:2:3:4:5:6:7:8:9 udp:1:2:3:4:5:6:7: udp:1:2:3:4:5:6:7:: udp:::2:3:4:5:6:7:8 udp:::1:2:3:4:5:6:7:8 udp:1:2:3:4::5:6:7:8 udp:1:2:3:4::6:7:8
-- frames: udp:1:2:3:4:5:6:7:8: udp:1:2:3:4:5:6:7:8:: udp:12345:: udp:::12345 udp:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff udp:FFFF::FfFf udp:g:: udp:::g
-- frames: udp:::ffff:192.0.2.7 udp:::192.0.2.7 udp:1:2:3:4:5:6:192.0.2.7 udp:1:2:3:4:5:6:7:192.0.2.7 udp:1:2:3:4:5:192.0.2.7 udp:1::3:4:5:6:192.0.2.7
-- frames: udp:::1:2:3:4:5:6:192.0.2.7 udp:64:ff9b::10.0.0.255 udp:::ffff:192.0.2 udp:::ffff:1.2.3.4:5 udp:1::2::3 udp:1:::2 udp::1::2 udp:fe80::1%eth0
-- frames: udp:0000:0000:0000:0000:0000:ffff:192.168.100.200 udp:0000:0000:0000:0000:0000:ffff:192.168.100.2001 udp:::0001 udp:::00001 udp:1:02:003:0004::
-- frames: udp:\x00 udp:1.2.3.4\x00 udp:1.2.3.\xb4 udp:::\xff udp:1:2:3:4:5:6:7 udp:::1.2.3 udp:::a.2.3.4 udp:::1234.2.3.4 udp6 icmp
local xdp = require "xdp"
local ip = require "ip"
local known = { [ip.parse "2001:DB8::0:1" or ""] = "documentation", [ip.parse "192.0.2.7"] = "seven" }
local seen = map { key = "ip", value = "int", capacity = 256 }

xdp.attach(function(pkt)
  local text = pkt.payload
  if not text then return 1 end
  local address = ip.parse(text)
  print(text, address, address and known[address], address == "::1", address == text)
  if address then
    seen[address] = (seen[address] or 0) + 1
    print(#address, seen[address], ip.parse(address) == address)
  end
end)
