local xdp = require "xdp"

xdp.attach(function(pkt)
  local seen = {}
  seen[pkt:getuint8(12)] = { pkt:getuint8(13) }
  return seen[0x08] and 1 or 2
end)
