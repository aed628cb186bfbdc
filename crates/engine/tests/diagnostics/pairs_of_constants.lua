local xdp = require "xdp"
local names = { a = 1, b = 2 }
local hits = {}
xdp.attach(function(pkt)
  for name, n in pairs(names) do hits[name] = n end
end)
