-- Loops within loops around patterns, which look for a match from positions that the loops count.
-- frames: tcp udp http:curl tcp:ab12\s34cd99\sx udp:1a2b3c
local xdp = require "xdp"
xdp.attach(function(pkt)
  local text = pkt.payload or ""
  local n = 0
  for i = 1, 4 do
    local word = text:match("%a+", i)
    for j = 1, 3 do
      if word and word:match("^" .. "[a-m]+", j) then n = n + j end
      for k = 1, 2 do
        local a, b = text:match("(%d+)%s*(%a*)", i * j + k)
        if a then n = n + #a + #b end
      end
    end
  end
  print(n)
end)
