-- Functions of the library by names made at packet time, and all that a table of the library has.
-- frames: tcp
local xdp = require "xdp"
handle_tcp = function(pkt) return #pkt end
xdp.attach(function(pkt)
  local count = 0
  for name, f in pairs(math) do count = count + (type(f) == "function" and #name or 0) end
  print(count > 50, string["up" .. "per"]("a"), math["m" .. "ax"](1, 2), _G["handle_" .. "tcp"](pkt) == #pkt)
  print(rawget(string, "re" .. "p")("a", 3))
end)
