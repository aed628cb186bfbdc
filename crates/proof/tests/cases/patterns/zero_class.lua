-- `%z` is a zero byte, `%Z` anything else, also in sets and at frontiers.
-- frames: udp:_\x00a udp:z\x00\x00z udp:z udp:Zz\x00
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:match("^%W%f[%z]"), s:find("%z+"), s:find("%Z+"), s:find("[%z_]"), s:find("[^%z]$"), s:find("z%z"))
end)
