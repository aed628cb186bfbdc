local xdp = require "xdp"
local words = {}
xdp.attach(function(pkt)
  local word = string.unpack("z", pkt:getstring(42, 3) .. "\0")
  words[word] = true
end)
