local xdp = require "xdp"
local names = {}
xdp.attach(function(pkt)
  local name = pcall(print) and "name" or "a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, a long name, "
  names[name] = #pkt
end)
