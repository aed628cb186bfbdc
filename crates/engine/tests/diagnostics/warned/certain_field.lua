local xdp = require "xdp"
local rule = { proto = "icmp", field = "dport" }

xdp.attach(function(pkt)
  local header = pkt[rule.proto]
  if header and header[rule.field] == 53 then return 1 end
end)
