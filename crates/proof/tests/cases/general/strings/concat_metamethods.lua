-- `__concat` of the right operand, whatever the left one is (manual § 2.4).
-- frames: udp tcp
local xdp = require "xdp"
xdp.attach(function(pkt)
  local joined = setmetatable({}, { __concat = function(a, b) return type(a) .. "," .. type(b) end })
  print(({}) .. joined, joined .. {}, pkt .. joined, joined .. pkt, pkt.ip .. joined)
  print(nil .. joined, true .. joined, joined .. nil, 1 .. joined, "x" .. joined, joined .. "x", "a" .. {} .. joined)
  print(setmetatable({}, {}) .. joined, joined .. joined)
  print(pcall(function() return {} .. "x" end))
end)
