-- Patterns against strings that packets do not make, and positions that they do.
-- frames: udp:a udp:zz udp-empty tcp hex:0000000000000005000000000000
local xdp = require "xdp"
local text = "key = value; other=thing"
xdp.attach(function(pkt)
  local i = pkt:getbyte(7)
  print(text:match("(%w+)%s*=%s*(%w+)", i), text:find("=", i), text:find("=", -i), text:match("()", i))
  print(("%d"):find("%%"), ("a" .. i .. "b"):match("a(%d+)b"), (i .. ""):match("^%d+$"))
end)
