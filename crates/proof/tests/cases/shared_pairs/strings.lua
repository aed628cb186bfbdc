-- Long strings as keys, many of them, in a loop that makes strings too.
-- frames: tcp udp tcp6 http:curl
local xdp = require "xdp"
local names, wide = {}, map { key = "string:200", value = "string:100", capacity = 64 }
for i = 1, 1500 do names["host-" .. i .. ".example.org"] = i end
xdp.attach(function(pkt)
  local ip = pkt.ip
  names[pkt:getstring(26, 8)] = #pkt
  wide[pkt:getstring(0, #pkt % 150)] = pkt:getstring(20, 13)
  local sum, length, best = 0, 0, 0
  for name, n in pairs(names) do
    sum, length = sum + n, length + #name
    if name == "host-1234.example.org" then best = n end
  end
  print(sum, length, best)
  local text = ""
  for key, value in pairs(wide) do
    if #key + #value > #text then text = key .. value end
  end
  print(#text)
end)
