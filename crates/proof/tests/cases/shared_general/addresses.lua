-- Addresses as keys and values: texts of packets, constants, and texts that are none.
-- frames: all tcp udp6 udp tls6 icmp6 tcp
local xdp = require "xdp"
local fours = map { key = "ipv4", value = "int" }
local any = map { key = "ip", value = "ip" }
local macs = map { key = "mac", value = "mac" }
fours["192.0.2.7"] = 100
local function try(f, ...) return (select(2, pcall(f, ...))) end
xdp.attach(function(pkt)
  local eth, ip = pkt.eth, pkt.ip
  macs[eth.src] = eth.dst
  print(macs[eth.src], macs["02:00:5e:10:00:01"], macs[eth.src:sub(1, 16)], macs["02:00:5E:10:00:01"])
  if not ip then return end
  any[ip.src] = ip.dst
  if ip.version == 4 then fours[ip.src] = (fours[ip.src] or 0) + 1 end
  print(any[ip.src], fours[ip.src], fours["192.0.2.7"], fours["192.0.2.07"], any["192.0.2.7"], any[ip.src .. "0"])
  for _, text in ipairs { "::1", "::", "1::", "::ffff:192.0.2.1", "2001:db8::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:0", "1:0:0:2::",
    "0:0:1::", "255.0.10.1", "0.0.0.0", "2001:db8:0:1:1:1:1:1", "1:0:0:2::3" } do
    if text ~= "0:0:1::" then any[text] = text end
    print(text, any[text])
  end
  for _, text in ipairs { "::1", "::", "1::", "::ffff:192.0.2.1", "2001:db8::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "0:0:1::",
    "1:0:0:2::", "FE80::1", "fe80::01", "::1::", ":1", "1:", "1:2:3:4:5:6:7:8:9", "12345::", "1.2.3.4.5", "1.2.3", "", "1.2.3.256" } do
    print(text, any[text], fours[text], macs[text])
  end
end)
