local xdp = require "xdp"
xdp.attach(function(pkt, arg)
  local s = 0 for i = 1, 5 do local function f() return i + #pkt end s = s + f() end return s & 1
end)
