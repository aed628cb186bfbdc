local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  local a, b = string.find(s or "", "x")
  local c = a and (b - a)
  if c and c > 0 then return 1 end
  local host = s and s:match("Host: (%w+)")
  if host and #host > 3 and host < "m" then return 1 end
end)
