-- Constant patterns that are malformed: an error when a match gets there, and none before.
-- frames: udp tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local text = pkt.payload
  print(pcall(string.find, text, "x[a"))
  print(pcall(string.find, text, "[a"))
  print(pcall(string.match, text, "q(%"))
  if pkt.udp then print((text:find("zzz%"))) end
  print(text:match("a ([%w.]+"))
end)
