local xdp = require "xdp"

local words = string.gmatch("a b c", "%a")
xdp.attach(function(pkt)
  for word in words do print(word) end
end)
