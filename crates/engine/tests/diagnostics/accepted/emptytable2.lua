local xdp = require "xdp"
local limits = {}
xdp.attach(function(pkt)
  local ip = pkt.ip
  if not ip then return end
  local limit = limits[ip.src]
  if limit and limit.bytes < #pkt then return 1 end
  if limit ~= nil and limit < #pkt then return 1 end
end)
