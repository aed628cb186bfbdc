local xdp = require "xdp"
local blocked = map { key = "ip" }
xdp.attach(function(pkt)
  local _, ip = pcall(function() return pkt.ip.src end)
  if blocked[ip] then return 1 end
end)
