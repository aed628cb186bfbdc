-- Offsets at the end of the integers, where frames are read from a copy.
-- frames: udp tcp
local cgroup = require "cgroup"
cgroup.egress("/", function(pkt)
  local n = #pkt
  for i = 0, 1 do print(pkt:getbyte(i % (n - 1))) end
  print(pkt:getbyte(math.maxinteger))
end)
