-- Two bytes behind a sum of packet bytes: one pointer serves both.
-- frames: tls tcp truncated:tls
local xdp = require "xdp"
xdp.attach(function(pkt, arg)
  local o = arg:getbyte(0) << 8 | arg:getbyte(1)
  if #pkt < o + 44 then return 2 end
  local c = 44 + pkt:getbyte(o + 43)
  local m = c + 2 + (pkt:getbyte(o + c) << 8 | pkt:getbyte(o + c + 1))
  print(m)
end)
