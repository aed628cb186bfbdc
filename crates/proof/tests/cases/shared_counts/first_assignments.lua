-- What is assigned where nothing was is added only if nothing is still there: not where the branch has assigned it before, under this
-- name or another one, nor where the branches are not the ways of having something and having nothing.
-- frames: tcp udp tcp udp6 icmp tcp udp all
local xdp = require "xdp"
local t = map { key = "int", value = "int", capacity = 200 }
local other = t
local r = map { key = "int", value = { n = "int", m = "int" } }
local flows = map { key = "int", value = { n = "int", bytes = "int", first = "int", last = "int" } }
local function set(k, v) t[k] = v end
local turn = 0
xdp.attach(function(pkt)
  turn = turn + 1
  local k = turn % 3
  if t[k] then t[k] = t[k] + 1 else set(k, 5) t[k] = 1 end
  if t[k + 10] then t[k + 10] = t[k + 10] + 1 else other[k + 10] = 7 t[k + 10] = 1 end
  local b = k + 20
  if t[b] then t[b] = t[b] + 1 else other[b] = 7 t[b] = 1 end
  local c = k + 30
  if t[c] and turn < 6 then t[c] = t[c] + 1 else t[c] = 1 end
  local d = k + 40
  if turn % 4 == 0 then t[d] = (t[d] or 3) + 2 else t[d] = 2 end
  local e = k + 50
  if t[e] then t[e] = t[e] + 2 else for _ = 1, 3 do t[e] = 2 end end
  local f = k + 60
  local n = t[f]
  if n then n = n + 1 else n = 1 end
  if turn == 4 then n = 100 end
  t[f] = n
  local g = k + 70
  if t[g] == nil then t[g] = 1 return end
  t[g] = t[g] + 1
  local h = k + 80
  if not t[h] then t[h] = 1 h = h + 1 t[h] = 1 else t[h] = t[h] + 1 end
  local i = k + 90
  t[i] = t[i] and t[i] + 1 or 1
  local j = k + 100
  if t[j] then
    if turn > 5 then t[j] = 0 end
    t[j] = t[j] + 1
  else
    t[j] = 1
    t[j] = 1
  end
  local e1 = r[k] or { n = 0 }
  if not r[k] then r[k] = e1 end
  local e2 = r[k]
  if e2.m then e2.m = e2.m + 1 else e2.m = 4 e2.m = 1 end
  if e2.n == nil then e2.n = 1 else e2.n = e2.n + 1 end
  local e3 = flows[k]
  if e3 and turn < 7 then e3.n = e3.n + 1 else flows[k] = { n = 1, first = turn } end
  local e4 = flows[k + 10]
  if e4 then
    e4.n = e4.n + 1
    e4.bytes = e4.bytes + #pkt
    e4.last = turn
  else
    e4 = { n = 1, bytes = #pkt, first = turn }
    flows[k + 10] = e4
    e4.last = 3
  end
  print(flows[k].n, flows[k].first, e4.n, e4.bytes, e4.first, e4.last)
  print(t[k], t[k + 10], t[b], t[c], t[d], t[e], t[f], t[g], t[k + 80], t[k + 81], t[i], t[j], e2.m, e2.n, r[k].m)
  if turn % 5 == 0 then e2.m, e2.n = nil, nil end
end)
