-- Assigning nil deletes; what is not there may be deleted.
-- frames: tcp udp tcp udp tcp arp arp tcp
local xdp = require "xdp"
local last, names = { [1] = 1, [2] = 2, [3] = 3 }, { a = "x", b = "y" }
xdp.attach(function(pkt)
  local kind = pkt.eth.type
  local key = pkt.udp and "b" or pkt.tcp and "a" or "c"
  print(last[#pkt], last[1], names[key], names.a)
  last[#pkt] = not last[#pkt] and kind or nil
  last[#pkt % 4] = nil
  if names[key] then names[key] = nil else names[key] = key .. kind end
  names["no such key " .. #pkt] = nil
  print(last[#pkt], last[1], last[2], last[3], names[key], names.b)
end)
