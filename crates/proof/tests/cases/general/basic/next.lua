-- next, pairs, ipairs on tables of packet time: changing and clearing while traversing (manual § 6.2).
-- frames: hex:0305010000000000000000000000 hex:0001000000000000000000000000 hex:1904000000000000000000000000
local xdp = require "xdp"
local function sorted(t)
  local all = {}
  for k, v in pairs(t) do all[#all + 1] = tostring(k) .. "=" .. tostring(v) end
  table.sort(all)
  return table.concat(all, " ")
end
xdp.attach(function(pkt)
  local n, m = pkt:getuint8(0), pkt:getuint8(1)
  local t = { 10, 20, 30, x = n, y = m, [n + 100] = "n", [true] = "yes", [-1] = "minus" }
  print(sorted(t), next({}), next({ n }), (next({ a = n })))
  for k, v in pairs(t) do if type(v) == "number" then t[k] = v + 1 end end
  print(sorted(t))
  for k in pairs(t) do if k ~= "x" then t[k] = nil end end
  print(sorted(t), next(t))
  t.x = nil
  print(next(t), next(t, nil), sorted(t))
  local big, sum, count = {}, 0, 0
  for i = 1, n + 20 do big[i * 7 % 64] = i; big["k" .. i] = i * 2 end
  for k, v in pairs(big) do sum, count = sum + v, count + 1 end
  print(sum, count)
  for i = 1, n + 20 do big["k" .. i] = nil end
  sum, count = 0, 0
  for k, v in next, big do sum, count = sum + k * v, count + 1 end
  print(sum, count)
  for k in pairs(big) do big[k] = nil end
  for i = 1, 5 do big["new" .. i] = i end
  print(sorted(big))
  for i, v in ipairs { n, m, nil, 4 } do print(i, v) end
  local growing = { 1 }
  for i, v in ipairs(growing) do if i < 5 then growing[i + 1] = v * 2 end end
  print(table.concat(growing, " "))
  print(pcall(next, {}, n))
  print(pcall(next))
  print(pcall(ipairs))
  local first = ipairs {}
  print(first({ n, m }, 0), first({ n, m }, 1), (first({ n }, 1)))
end)
