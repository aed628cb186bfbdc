-- A `%` ends a range as any other character does, but the character behind it never ends the set.
-- frames: udp:b(1\s\s) udp:]%a-z udp:$#%& udp:a]]
local xdp = require "xdp"
xdp.attach(function(pkt)
  local s = pkt.payload
  if not s then return 1 end
  print(s:find("([^A-Za-%]])"), s:find("[a-%]]+"), s:find("[#-%]]"), s:find("[#-%%]+"), s:find("[a-]+"), s:find("[%a-z]+"))
end)
