-- Tables by string key of several sizes.
-- frames: sni:a sni:b.example sni:name7.example sni:name9999.example sni:name10000.example sni:name0.example sni:name100.example
-- frames: sni:name5.example sni:name4.example sni:name1.example tls tcp
local xdp = require "xdp"
local function names(n)
  local t = {}
  for i = 1, n do t["name" .. i .. ".example"] = i end
  return t
end
local t0, t1, t4, t5, t100, t10000 = names(0), names(1), names(4), names(5), names(100), names(10000)
local lengths = {}
for i = 0, 80 do lengths[("a"):rep(i)] = i end
xdp.attach(function(pkt)
  local name = pkt.tls and pkt.tls.sni
  if not name then return 1 end
  print(name, t0[name], t1[name], t4[name], t5[name], t100[name], t10000[name])
  for i = 1, #name do
    local part = name:sub(1, i)
    print(i, t5[part], t100[part], t10000[part], lengths[part])
  end
end)
