local xdp = require "xdp"
local ranges = { web = { 80, 443 }, dns = { [0] = 53 } }
xdp.attach(function(pkt)
  ranges[pkt:getstring(0, 3)] = nil
end)
