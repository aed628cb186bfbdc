local xdp = require "xdp"
local stats = { pass = 0 }
stats.by = {}
xdp.attach(function(pkt)
  local word = string.unpack(#pkt > 60 and "z" or "s1", pkt:getstring(42, 3) .. "\0")
  stats.by[word] = word
  stats.pass = stats.pass + 1
end)
