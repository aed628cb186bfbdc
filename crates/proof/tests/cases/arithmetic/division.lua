-- `//` and `%` round towards minus infinity, for operands of both signs (manual § 3.4.1).
-- frames: tcp udp icmp6 hex:0000000000000080ffffffffffffffff0102030405060708090a0b0c0d0e0f10
local xdp = require "xdp"

local divisors = {}
for _, value in ipairs { 1, -1, 2, -2, 3, -3, 7, -7, 8, -8, 10, -10, 255, -4096, math.maxinteger, math.mininteger } do
  divisors[#divisors + 1] = value
end

xdp.attach(function(pkt)
  local a, b = pkt:getint64(0), pkt:getint64(8)
  local small, byte = pkt:getint8(12), pkt:getint8(13) | 1
  print(a // 1, a % 1, a // -1, a % -1, a // 2, a % 2, a // -2, a % -2)
  print(a // 3, a % 3, a // -3, a % -3, a // 7, a % 7, a // -7, a % -7)
  print(a // 8, a % 8, a // -8, a % -8, a // 10, a % 10, a // -10, a % -10)
  print(a // 4096, a % 4096, a // -4096, a % -4096)
  print(a // math.maxinteger, a % math.maxinteger, a // math.mininteger, a % math.mininteger)
  print(a // byte, a % byte, b // byte, b % byte, small // byte, small % byte)
  print(7 // byte, 7 % byte, -7 // byte, -7 % byte, math.mininteger // byte, math.mininteger % byte)
  for i = 1, 16 do
    local divisor = divisors[i]
    print(i, a // divisor, a % divisor, small // divisor, small % divisor)
  end
end)
