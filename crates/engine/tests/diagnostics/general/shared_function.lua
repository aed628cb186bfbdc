local xdp = require "xdp"
local actions = { [80] = function() return 2 end }
xdp.attach(function(pkt)
  local port = select(2, pcall(function() return pkt.tcp.dport end))
  actions[port] = nil
end)
