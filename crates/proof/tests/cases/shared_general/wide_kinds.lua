-- Records of sixty fields of all types, which general code makes from tables of packet memory.
-- frames: udp tcp udp tls tcp udp-options
local xdp = require "xdp"
local wide = map { key = "int", ttl = 60, value = {
    f1 = "boolean", f2 = "string:16", f3 = "string:8", f4 = "mac", f5 = "int", f6 = "int",
    f7 = "boolean", f8 = "string:16", f9 = "string:8", f10 = "ip", f11 = "int", f12 = "int",
    f13 = "boolean", f14 = "string:16", f15 = "string:8", f16 = "mac", f17 = "int", f18 = "int",
    f19 = "boolean", f20 = "string:16", f21 = "string:8", f22 = "ip", f23 = "int", f24 = "int",
    f25 = "boolean", f26 = "string:16", f27 = "string:8", f28 = "mac", f29 = "int", f30 = "int",
    f31 = "boolean", f32 = "string:16", f33 = "string:8", f34 = "ip", f35 = "int", f36 = "int",
    f37 = "boolean", f38 = "string:16", f39 = "string:8", f40 = "mac", f41 = "int", f42 = "int",
    f43 = "boolean", f44 = "string:16", f45 = "string:8", f46 = "ip", f47 = "int", f48 = "int",
    f49 = "boolean", f50 = "string:16", f51 = "string:8", f52 = "mac", f53 = "int", f54 = "int",
    f55 = "boolean", f56 = "string:16", f57 = "string:8", f58 = "ip", f59 = "int", f60 = "int"
} }
local names = {}
for i = 1, 60 do names[i] = "f" .. i end
xdp.attach(function(pkt)
  local n, k = #pkt, pkt:getbyte(23)
  local function new(n)
    return {
    f1 = n > 1, f2 = "t2" .. n, f3 = pkt:getstring(3, 3), f4 = pkt.eth.dst, f5 = nil,
    f6 = n + 6, f7 = n > 7, f8 = "t8" .. n, f9 = pkt:getstring(9, 3), f10 = pkt.ip.src,
    f11 = 11, f12 = n + 12, f13 = n > 13, f14 = "t14" .. n, f15 = pkt:getstring(5, 3),
    f16 = pkt.eth.dst, f17 = 17, f18 = n + 18, f19 = n > 19, f20 = "t20" .. n,
    f21 = pkt:getstring(1, 3), f22 = pkt.ip.src, f23 = 23, f24 = n + 24, f25 = n > 25,
    f26 = "t26" .. n, f27 = pkt:getstring(7, 3), f28 = pkt.eth.dst, f29 = 29, f30 = n + 30,
    f31 = n > 31, f32 = "t32" .. n, f33 = pkt:getstring(3, 3), f34 = pkt.ip.src, f35 = nil,
    f36 = n + 36, f37 = n > 37, f38 = "t38" .. n, f39 = pkt:getstring(9, 3), f40 = pkt.eth.dst,
    f41 = 41, f42 = n + 42, f43 = n > 43, f44 = "t44", f45 = pkt:getstring(5, 3),
    f46 = pkt.ip.src, f47 = 47, f48 = n + 48, f49 = n > 49, f50 = "t50",
    f51 = pkt:getstring(1, 3), f52 = pkt.eth.dst, f53 = 53, f54 = n + 54, f55 = n > 55,
    f56 = "t56", f57 = pkt:getstring(7, 3), f58 = pkt.ip.src, f59 = 59, f60 = n + 60
    }
  end
  if wide[k] then
    wide[k].f12 = wide[k].f12 + 1
    wide[k].f8 = "changed " .. n
  else
    wide[k] = new(n)
  end
  local r = wide[k]
  print(r.f1, r.f2, r.f3, r.f4, r.f5, r.f6, r.f7, r.f8, r.f9, r.f10, r.f11, r.f12, r.f13, r.f14, r.f15, r.f16, r.f17, r.f18, r.f19, r.f20, r.f21, r.f22, r.f23, r.f24, r.f25, r.f26, r.f27, r.f28, r.f29, r.f30)
  print(r.f31, r.f32, r.f33, r.f34, r.f35, r.f36, r.f37, r.f38, r.f39, r.f40, r.f41, r.f42, r.f43, r.f44, r.f45, r.f46, r.f47, r.f48, r.f49, r.f50, r.f51, r.f52, r.f53, r.f54, r.f55, r.f56, r.f57, r.f58, r.f59, r.f60)
  local ok, message = pcall(function()
    local t = new(n)
    t[names[k % 2 == 0 and 14 or 6]] = k % 2 == 0 and ("x"):rep(n) or "text"
    wide[k] = t
  end)
  print(ok, message)
end)
