-- tostring looks at its first argument only.
-- frames: udp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local named = setmetatable({}, { __tostring = function() return "named" end })
  print(tostring(1, setmetatable({}, {})), tostring(named, 1), tostring(nil, named), tostring("s", {}, pkt))
  print(pcall(tostring))
  print(pcall(tostring, 1, setmetatable({}, {})))
  print(pcall(tostring, setmetatable({}, { __tostring = function() return {} end })))
end)
