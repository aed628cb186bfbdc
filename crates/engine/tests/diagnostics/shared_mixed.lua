local xdp = require "xdp"
local stats = { pass = 0, drop = 0, by = {} }
xdp.attach(function(pkt)
  local k = pkt.udp and "drop" or "pass"
  stats[k] = stats[k] + 1
  stats.by[k] = (stats.by[k] or 0) + 1
end)
