-- Conditions: only nil and false are false (manual § 3.3.4).
-- frames: tcp udp icmp arp hex:000000000000000000000000000000
local xdp = require "xdp"
xdp.attach(function(pkt)
  local zero = pkt:getuint8(0) & 0
  if zero then print "zero is true" else print "no" end
  if "" then print "so is the empty string" end
  if pkt.tcp then print "tcp" elseif pkt.udp then print "udp" elseif pkt.icmp then print "icmp" else print "none" end
  if not pkt.ip then return 1 end
  local proto = pkt.ip.proto
  local verdict
  if proto == 6 then verdict = 1 elseif proto == 17 then verdict = 3 end
  print(verdict)
  return verdict
end)
