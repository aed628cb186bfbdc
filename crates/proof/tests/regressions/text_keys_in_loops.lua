-- The offset of the ones that cut a key off, in a loop that loses its bounds, beside a pool that is larger than they are.
-- frames: hex:0000000000000000000000000000
local xdp = require "xdp"
local hits6 = map { key = "string:64", value = { n = "int", last = "int" } }
xdp.attach(function(pkt)
  local c18 = 0
  while c18 < 1 do
    c18 = c18 + 1
    local key24 = pkt:getstring(0, (c18 & 3))
    local e = hits6[key24]
    if e then
    else
      hits6[key24] = { n = 1, last = 0 }
    end
    print(hits6[key24].n, hits6[key24].last)
  end
end)
