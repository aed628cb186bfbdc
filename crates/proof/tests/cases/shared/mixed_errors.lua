-- What does not fit tables of several types, and what such values cannot do.
-- frames: udp tcp arp
local xdp = require "xdp"
local few = map { key = "int", value = "boolean|string:4", capacity = 100 }
local any = map { key = "int", value = "any", capacity = 100 }
xdp.attach(function(pkt)
  any[1], any[2], any[3] = true, 7, "x"
  any[#pkt & 1] = #pkt > 50 and "yes" or 1.5
  local some = any[#pkt & 1]
  print(pcall(function() return any[1] + 1 end))
  print(pcall(function() return any[2] + 1 end))
  print(pcall(function() return any[3] < "y" end))
  print(pcall(function() return any[2] .. "" end))
  print(pcall(function() few[1] = "too long " .. #pkt end))
  print(pcall(function() few[1] = #pkt end))
  print(few[1], some)
  few[2] = pkt.tcp and "abcd" or pkt.udp and true or "abcde"
  print(few[2])
end)
