-- Every field of `pkt.tcp` on frames of every kind, and on every prefix of one.
-- frames: all
-- frames: truncated:tcp-options
local xdp = require "xdp"
xdp.attach(function(pkt)
  local header = pkt.tcp
  if not header then
    print "none"
    return 1
  end
  print(header.sport, header.dport, header.seq, header.ack)
  print(header.flags, header.fin, header.syn, header.rst)
  print(header.psh, header.urg, header.ece, header.cwr)
  print(header.window, header.checksum, header.urgent, header.header_length)
end)
