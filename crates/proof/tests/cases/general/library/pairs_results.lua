-- How many results `pairs` has: four, the last for what is to be closed, whoever gives them.
-- frames: tcp
local xdp = require "xdp"
local names = { a = 1 }
local at_load = select("#", pairs(names))
local given = setmetatable({}, { __pairs = function() return next, {} end })
xdp.attach(function(pkt)
  local made = setmetatable({}, { __pairs = function() return 1 end })
  print(at_load, select("#", pairs(names)), select("#", pairs({ #pkt })), select("#", pairs(given)), select("#", pairs(made)))
  print(pcall(type, pkt))
end)
