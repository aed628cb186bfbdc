-- How many results `pairs` has: three, and four where a metamethod gives them.
-- frames: tcp
local xdp = require "xdp"
local given = setmetatable({}, { __pairs = function() return next, {} end })
xdp.attach(function(pkt)
  local made = setmetatable({}, { __pairs = function() return 1 end })
  print(select("#", pairs({ #pkt })), select("#", pairs(given)), select("#", pairs(made)))
  print(pcall(type, pkt))
end)
