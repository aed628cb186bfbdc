-- Strings made at packet time in the place of addresses: keys and values of tables of addresses and prefixes.
-- frames: udp tcp6 udp
local xdp = require "xdp"
local t = map { key = "ipv4", value = "int", capacity = 100 }
local macs = map { key = "mac", value = "ipv4", capacity = 100 }
local any = map { key = "ip", value = "int", capacity = 100 }
local nets = map { key = "ipv4", value = "int", lpm = true, capacity = 100 }
nets["10.0.0.0/8"] = 1
xdp.attach(function(pkt)
  local n = pkt:getbyte(26)
  t[n .. ".0.0.1"] = (t[n .. ".0.0.1"] or 0) + 1
  print(t[n .. ".0.0.1"], t["192.0.0.1"], t[n .. ".0.0"])
  macs["02:00:00:00:00:" .. string.format("%02x", n)] = n .. ".1.2.3"
  print(macs["02:00:00:00:00:" .. string.format("%02x", n)])
  any["2001:db8::1" .. n] = 5
  any[n .. ".5.5.5"] = 6
  print(any["2001:db8::1" .. n], any[n .. ".5.5.5"], any["x" .. n])
  print(nets["10." .. n .. ".0.1"], nets[n .. ".0.0.1"])
  print(pcall(function() t[n .. ".0.0"] = 1 end))
  print(pcall(function() macs["02:00:00:00:00:01"] = "x" .. n end))
  t["x" .. n] = 2
end)
