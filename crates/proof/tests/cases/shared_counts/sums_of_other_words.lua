-- frames: udp tcp udp:x
-- What looks like a sum of the assigned word is one of another word, or of none, on some paths.
local xdp = require "xdp"
local t, r = {}, {}
xdp.attach(function(pkt)
  local k, j = pkt:getuint8(14) & 3, pkt:getuint8(23) & 1
  t[1], t[2], t[3] = t[1] or 10, t[2] or 20, t[3] or 30
  -- Read of one entry, assigned to another.
  t[k] = (t[2] or 0) + 1
  t[2] = t[3] - #pkt
  -- 5 is no sum, where nothing was read.
  local n = r[k] and r[k].n or 5
  r[k] = r[k] or { n = 1, m = 2 }
  r[k].n = n + 1
  local m
  if j == 1 then m = r[k].n else m = 100 end
  r[k].n = m + 1
  local p
  if j == 1 then
    local x = pkt:getuint8(30)
    p = r[k].m + x
  else
    p = 6
  end
  r[k].m = p
  local q = j == 1 and r[k].n or r[k].m
  r[k].m = q + 7
  -- What is kept, and what stands in for nil.
  t[7 + j] = t[7 + j] or 70
  t[7 + j] = t[7 + j] or 71
  if t[9] == nil then t[9] = 90 end
  if t[9] == nil then t[9] = 91 end
  t[9] = t[9] + t[9]
  print(t[1], t[2], t[3], t[k], t[7], t[8], t[9])
  print(r[k].n, r[k].m)
end)
