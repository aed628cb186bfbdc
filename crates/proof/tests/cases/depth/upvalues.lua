-- A closure with a hundred and fifty variables of the function around it, and closures within closures.
-- frames: udp tcp tls
local xdp = require "xdp"
xdp.attach(function(pkt)
  local n = #pkt
  local u1, u2, u3, u4, u5, u6, u7, u8, u9, u10, u11, u12, u13, u14, u15, u16, u17, u18, u19, u20,
    u21, u22, u23, u24, u25, u26, u27, u28, u29, u30, u31, u32, u33, u34, u35, u36, u37, u38, u39, u40,
    u41, u42, u43, u44, u45, u46, u47, u48, u49, u50, u51, u52, u53, u54, u55, u56, u57, u58, u59, u60,
    u61, u62, u63, u64, u65, u66, u67, u68, u69, u70, u71, u72, u73, u74, u75, u76, u77, u78, u79, u80,
    u81, u82, u83, u84, u85, u86, u87, u88, u89, u90, u91, u92, u93, u94, u95, u96, u97, u98, u99, u100,
    u101, u102, u103, u104, u105, u106, u107, u108, u109, u110, u111, u112, u113, u114, u115, u116, u117, u118, u119, u120,
    u121, u122, u123, u124, u125, u126, u127, u128, u129, u130, u131, u132, u133, u134, u135, u136, u137, u138, u139, u140,
    u141, u142, u143, u144, u145, u146, u147, u148, u149, u150 = n + 0, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9, n + 10, n + 11, n + 12, n + 13, n + 14, n + 15, n + 16, n + 17, n + 18, n + 19,
    n + 20, n + 21, n + 22, n + 23, n + 24, n + 25, n + 26, n + 27, n + 28, n + 29, n + 30, n + 31, n + 32, n + 33, n + 34, n + 35, n + 36, n + 37, n + 38, n + 39,
    n + 40, n + 41, n + 42, n + 43, n + 44, n + 45, n + 46, n + 47, n + 48, n + 49, n + 50, n + 51, n + 52, n + 53, n + 54, n + 55, n + 56, n + 57, n + 58, n + 59,
    n + 60, n + 61, n + 62, n + 63, n + 64, n + 65, n + 66, n + 67, n + 68, n + 69, n + 70, n + 71, n + 72, n + 73, n + 74, n + 75, n + 76, n + 77, n + 78, n + 79,
    n + 80, n + 81, n + 82, n + 83, n + 84, n + 85, n + 86, n + 87, n + 88, n + 89, n + 90, n + 91, n + 92, n + 93, n + 94, n + 95, n + 96, n + 97, n + 98, n + 99,
    n + 100, n + 101, n + 102, n + 103, n + 104, n + 105, n + 106, n + 107, n + 108, n + 109, n + 110, n + 111, n + 112, n + 113, n + 114, n + 115, n + 116, n + 117, n + 118, n + 119,
    n + 120, n + 121, n + 122, n + 123, n + 124, n + 125, n + 126, n + 127, n + 128, n + 129, n + 130, n + 131, n + 132, n + 133, n + 134, n + 135, n + 136, n + 137, n + 138, n + 139,
    n + 140, n + 141, n + 142, n + 143, n + 144, n + 145, n + 146, n + 147, n + 148, n + 149
  local function f()
    u1, u150 = u150, u1
    return u1 + u2 + u3 + u4 + u5 + u6 + u7 + u8 + u9 + u10 + u11 + u12 + u13 + u14 + u15 + u16 + u17 + u18 + u19 + u20 + u21 + u22 + u23 + u24 + u25 + u26 + u27 + u28 + u29 + u30 + u31 + u32 + u33 + u34 + u35 + u36 + u37 + u38 + u39 + u40 + u41 + u42 + u43 + u44 + u45 + u46 + u47 + u48 + u49 + u50 + u51 + u52 + u53 + u54 + u55 + u56 + u57 + u58 + u59 + u60 + u61 + u62 + u63 + u64 + u65 + u66 + u67 + u68 + u69 + u70 + u71 + u72 + u73 + u74 + u75 + u76 + u77 + u78 + u79 + u80 + u81 + u82 + u83 + u84 + u85 + u86 + u87 + u88 + u89 + u90 + u91 + u92 + u93 + u94 + u95 + u96 + u97 + u98 + u99 + u100 + u101 + u102 + u103 + u104 + u105 + u106 + u107 + u108 + u109 + u110 + u111 + u112 + u113 + u114 + u115 + u116 + u117 + u118 + u119 + u120 + u121 + u122 + u123 + u124 + u125 + u126 + u127 + u128 + u129 + u130 + u131 + u132 + u133 + u134 + u135 + u136 + u137 + u138 + u139 + u140 + u141 + u142 + u143 + u144 + u145 + u146 + u147 + u148 + u149 + u150
  end
  print(f(), u1, u150)
  local g = f
  do local h = g local k0 = n + 0 g = function() k0 = k0 + 1 return h() + k0 end end
  do local h = g local k1 = n + 1 g = function() k1 = k1 + 1 return h() + k1 end end
  do local h = g local k2 = n + 2 g = function() k2 = k2 + 1 return h() + k2 end end
  do local h = g local k3 = n + 3 g = function() k3 = k3 + 1 return h() + k3 end end
  do local h = g local k4 = n + 4 g = function() k4 = k4 + 1 return h() + k4 end end
  do local h = g local k5 = n + 5 g = function() k5 = k5 + 1 return h() + k5 end end
  do local h = g local k6 = n + 6 g = function() k6 = k6 + 1 return h() + k6 end end
  do local h = g local k7 = n + 7 g = function() k7 = k7 + 1 return h() + k7 end end
  do local h = g local k8 = n + 8 g = function() k8 = k8 + 1 return h() + k8 end end
  do local h = g local k9 = n + 9 g = function() k9 = k9 + 1 return h() + k9 end end
  do local h = g local k10 = n + 10 g = function() k10 = k10 + 1 return h() + k10 end end
  do local h = g local k11 = n + 11 g = function() k11 = k11 + 1 return h() + k11 end end
  do local h = g local k12 = n + 12 g = function() k12 = k12 + 1 return h() + k12 end end
  do local h = g local k13 = n + 13 g = function() k13 = k13 + 1 return h() + k13 end end
  do local h = g local k14 = n + 14 g = function() k14 = k14 + 1 return h() + k14 end end
  do local h = g local k15 = n + 15 g = function() k15 = k15 + 1 return h() + k15 end end
  do local h = g local k16 = n + 16 g = function() k16 = k16 + 1 return h() + k16 end end
  do local h = g local k17 = n + 17 g = function() k17 = k17 + 1 return h() + k17 end end
  do local h = g local k18 = n + 18 g = function() k18 = k18 + 1 return h() + k18 end end
  do local h = g local k19 = n + 19 g = function() k19 = k19 + 1 return h() + k19 end end
  do local h = g local k20 = n + 20 g = function() k20 = k20 + 1 return h() + k20 end end
  do local h = g local k21 = n + 21 g = function() k21 = k21 + 1 return h() + k21 end end
  do local h = g local k22 = n + 22 g = function() k22 = k22 + 1 return h() + k22 end end
  do local h = g local k23 = n + 23 g = function() k23 = k23 + 1 return h() + k23 end end
  do local h = g local k24 = n + 24 g = function() k24 = k24 + 1 return h() + k24 end end
  print(g(), g(), u1)
end)
