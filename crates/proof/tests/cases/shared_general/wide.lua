-- Records of sixty fields: assigned whole, read, changed field by field, replaced.
-- frames: udp tcp udp tls tcp
local xdp = require "xdp"
local wide = {}
xdp.attach(function(pkt)
  local n, k = #pkt, pkt:getbyte(23)
  local r = wide[k]
  if r then
    r.f1, r.f60 = r.f1 + 1, r.f59
    print(r.f1, r.f2, r.f31, r.f59, r.f60)
  else
    wide[k] = {
    f1 = n + 1, f2 = n + 2, f3 = n + 3, f4 = n + 4, f5 = n + 5, f6 = n + 6, f7 = n + 7, f8 = n + 8, f9 = n + 9, f10 = n + 10,
    f11 = n + 11, f12 = n + 12, f13 = n + 13, f14 = n + 14, f15 = n + 15, f16 = n + 16, f17 = n + 17, f18 = n + 18, f19 = n + 19, f20 = n + 20,
    f21 = n + 21, f22 = n + 22, f23 = n + 23, f24 = n + 24, f25 = n + 25, f26 = n + 26, f27 = n + 27, f28 = n + 28, f29 = n + 29, f30 = n + 30,
    f31 = n + 31, f32 = n + 32, f33 = n + 33, f34 = n + 34, f35 = n + 35, f36 = n + 36, f37 = n + 37, f38 = n + 38, f39 = n + 39, f40 = n + 40,
    f41 = n + 41, f42 = n + 42, f43 = n + 43, f44 = n + 44, f45 = n + 45, f46 = n + 46, f47 = n + 47, f48 = n + 48, f49 = n + 49, f50 = n + 50,
    f51 = n + 51, f52 = n + 52, f53 = n + 53, f54 = n + 54, f55 = n + 55, f56 = n + 56, f57 = n + 57, f58 = n + 58, f59 = n + 59, f60 = n + 60
    }
  end
  local again = wide[k]
  print(again.f1 + again.f2 + again.f3 + again.f4 + again.f5 + again.f6 + again.f7 + again.f8 + again.f9 + again.f10 + again.f11 + again.f12 + again.f13 + again.f14 + again.f15 + again.f16 + again.f17 + again.f18 + again.f19 + again.f20 + again.f21 + again.f22 + again.f23 + again.f24 + again.f25 + again.f26 + again.f27 + again.f28 + again.f29 + again.f30 + again.f31 + again.f32 + again.f33 + again.f34 + again.f35 + again.f36 + again.f37 + again.f38 + again.f39 + again.f40 + again.f41 + again.f42 + again.f43 + again.f44 + again.f45 + again.f46 + again.f47 + again.f48 + again.f49 + again.f50 + again.f51 + again.f52 + again.f53 + again.f54 + again.f55 + again.f56 + again.f57 + again.f58 + again.f59 + again.f60)
  if n > 100 then again.f30 = nil end
  print(again.f30)
end)
