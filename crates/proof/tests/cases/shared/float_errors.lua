-- What does not fit tables of floats and integers: integers where floats are declared, floats where integers are, keys that equal no integer.
-- frames: udp tcp udp arp
local xdp = require "xdp"
local floats = map { key = "int", value = "float", capacity = 100 }
local ints = map { key = "int", value = "int", capacity = 100 }
local counts = map { key = "int", value = { n = "int", x = "float" }, capacity = 100 }
xdp.attach(function(pkt)
  local half = #pkt / 2
  local some = #pkt > 50 and 2 or 2.0
  print(pcall(function() floats[1] = some end))
  print(pcall(function() ints[1] = some end))
  print(pcall(function() ints[half + 0.5] = 1 end))
  print(pcall(function() ints[half - half + 3] = 1 end))
  print(pcall(function() counts[1] = { n = 1, x = some } end))
  print(floats[1], ints[1], ints[3], counts[1] and counts[1].x)
  ints[half + 0.25] = 1
end)
