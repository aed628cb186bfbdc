-- More entries than a new table has room for, of integers and of strings, and again with a budget of entries that are gone.
-- frames: tls tcp udp tls6-extensions arp
local xdp = require "xdp"

xdp.attach(function(pkt)
  local places, text = {}, pkt:getstring(0)
  for i = 0, #pkt - 1 do places[pkt:getuint8(i) << 16 | i] = i end
  local sum, count = 0, 0
  for key, i in pairs(places) do
    sum = sum + key + i
    count = count + 1
  end
  print(sum, count, places[pkt:getuint8(20) << 16 | 20], places[#pkt])
  local parts = {}
  for i = 1, #text, 3 do parts[text:sub(i, i + i % 17)] = i end
  local different, bytes, last = 0, 0, ""
  for part, i in pairs(parts) do
    different, bytes = different + 1, bytes + #part
    if part > last then last = part end
  end
  print(different, bytes, #last, parts[text:sub(1, 2)], parts[last])
  for i = 0, #pkt - 1 do
    if i % 2 == 0 then places[pkt:getuint8(i) << 16 | i] = nil end
  end
  local left = 0
  for key, i in pairs(places) do left = left + i end
  print(left)
end)
