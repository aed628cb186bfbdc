-- Tables of prefixes in general code: read, assigned and deleted by addresses and by prefixes, known and made at packet time.
-- frames: udp tcp6 udp
local xdp = require "xdp"
local nets = map { key = "ipv4", value = "int", lpm = true, capacity = 100 }
nets["10.0.0.0/8"] = 7
nets["10.1.0.0/16"] = 8
local wide = map { key = "ipv6", value = "int", lpm = true, capacity = 100 }
wide["2001:db8::/32"] = 1
local recursive
recursive = function(n) if n == 0 then return "" end return recursive(n - 1) end
xdp.attach(function(pkt)
  local n = pkt:getbyte(14) + #recursive(2)
  print(nets["10.0.0.0/8"], nets["10.1.0.0/16"], nets["10.1.2.3"], nets["10.0.0.0/7"], nets["11.0.0.0/8"], nets["10.1.9.9/24"])
  for _, text in ipairs { "10.%d.0.0/16", "10.%d.0.0/33", "10.%d.0.0/+8", "10.%d.0.0/", "10.%d.0.0/008", "10.%d.0/8", "0.%d.0.0/0" } do
    local key = text:format(1)
    print(key, nets[key], pcall(function() nets[key] = n end))
    print(nets["10.1.2.3"], nets["0.0.0.1"])
  end
  nets["10." .. 1 .. ".0.0/16"] = nil
  print(nets["10.1.2.3"], nets["10.1.0.0/16"])
  for _, text in ipairs { "2001:db8:%d::/48", "2001:DB8:%d::/48", "2001:db8:%d::1", "2001:db8::%d:0/0", "::/0", "2001:db8:%d::/129", "1:2:3:4:5:6:7:8:/8",
    "1::2::3/64", "::ffff:1.2.3.%d/128", "1:2:3:4:5:6:7::8/128", "1:2:3:4:5:6:7:8/128", "12345::/16", ":1::/16", "1:/16" } do
    local key = text:format(5)
    print(key, wide[key], pcall(function() wide[key] = n end))
    print(wide["2001:db8:5::1"], wide["::1"], wide["1:2:3:4:5:6:7:8"])
  end
  wide["::/0"] = nil
  print(pkt.ip and (nets[pkt.ip.src] or wide[pkt.ip.src]))
  nets["10.0.0.0/8"] = 7
  nets["10.1.0.0/16"] = 8
  wide["2001:db8:5::1"] = nil
end)
