local xdp = require "xdp"
local config = { port = nil, names = {} }
xdp.attach(function(pkt)
  local udp = pkt.udp
  if udp and config.port and udp.dport == config.port + 1 then return 1 end
  if config.log then config.log.count = config.log.count + 1 end
  local name = config.names[#pkt]
  if name then print("name " .. name) end
end)
