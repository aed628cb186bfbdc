local xdp = require "xdp"
local words = {}
xdp.attach(function(pkt)
  local word = string.unpack(#pkt > 60 and "z" or "s1", pkt:getstring(42, 3) .. "\0")
  words[word] = true
end)
