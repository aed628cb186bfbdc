local xdp = require "xdp"
local words = {}
xdp.attach(function(pkt)
  local ok, word = pcall(pkt.getstring, pkt, 42, 3)
  if ok then words[word] = (words[word] or 0) + 1 end
end)
