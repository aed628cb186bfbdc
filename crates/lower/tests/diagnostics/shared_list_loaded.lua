local xdp = require "xdp"
local ranges = { dns = { 53, 53 }, web = { 80, 443 } }
xdp.attach(function(pkt)
  ranges[pkt:getstring(0, 3)] = nil
end)
