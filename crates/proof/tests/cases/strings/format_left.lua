-- Texts of the packet and texts that the handler makes, at the left of fields that are wider and narrower than they are.
-- frames: udp-empty
-- frames: udp:none
-- frames: udp:exactly8
-- frames: udp:more\sthan\sten\sbytes
local xdp = require "xdp"
xdp.attach(function(pkt)
  local text = pkt.payload or "nothing"
  print(string.format("%-10s|", "x=1" .. text))
  print(string.format("%-10s|", text) .. text)
  print(string.format("%-3s|%-16s|%-99s|", text, text .. "!", text:sub(2)))
  print(string.format("%-12.3s|%10s|%-1s", "<" .. text .. ">", text .. "?", text))
  local t = { [string.format("%-8s", text .. ".")] = 1 }
  print(t["none.   "])
end)
