-- Every field of `pkt.tls` on frames of every kind, and on every prefix of one.
-- frames: all sni:a sni6:x.example sni:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
-- frames: truncated:tls6-extensions
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.tls
  if not header then
    print "none"
    return 1
  end
  print(header.sni)
end)
